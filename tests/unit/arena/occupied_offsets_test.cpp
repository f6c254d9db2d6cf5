#include "lab/arena/occupied_offsets.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tessera {
namespace {

TEST(OccupiedOffsets, TheSmallestGapThatFitsIsFound) {
  OccupiedOffsets occupied(4);
  occupied.take({0, 3}, Bytes(0), Bytes(10));
  occupied.take({1, 1}, Bytes(30), Bytes(10));
  occupied.take({2, 2}, Bytes(45), Bytes(5));
  EXPECT_EQ(occupied.smallest_gap({1, 2}, Bytes(5)), Bytes(40));
  EXPECT_EQ(occupied.smallest_gap({1, 2}, Bytes(6)), Bytes(10));
  EXPECT_EQ(occupied.smallest_gap({1, 2}, Bytes(21)), Bytes(50));
  EXPECT_EQ(occupied.smallest_gap({3, 3}, Bytes(1)), Bytes(10));
}

TEST(OccupiedOffsets, TakesTheLowestOfEqualGaps) {
  OccupiedOffsets occupied(1);
  occupied.take({0, 0}, Bytes(10), Bytes(10));
  occupied.take({0, 0}, Bytes(30), Bytes(10));
  EXPECT_EQ(occupied.smallest_gap({0, 0}, Bytes(10)), Bytes(0));
}

// Compared with a map of every offset and slot.
TEST(OccupiedOffsets, AnswersAsAMapOfBytesDoes) {
  constexpr std::size_t kSlots = 13, kBytes = 64;
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    OccupiedOffsets occupied(kSlots);
    bool taken[kSlots][kBytes] = {};
    for (int step = 0; step < 30; ++step) {
      const std::size_t a = random() % kSlots, b = random() % kSlots;
      const SlotSpan span{std::min(a, b), std::max(a, b)};
      const auto free = [&](std::size_t offset) {
        for (std::size_t slot = span.first; slot <= span.last; ++slot) {
          if (taken[slot][offset]) return false;
        }
        return true;
      };
      const std::size_t bytes = 1 + random() % 6;
      std::size_t best = 0, best_gap = kBytes + 1, gap = 0, end = 0;
      for (std::size_t offset = 0; offset < kBytes; ++offset) {
        if (free(offset)) {
          ++gap;
          continue;
        }
        if (gap >= bytes && gap < best_gap) best = offset - gap, best_gap = gap;
        gap = 0;
        end = offset + 1;
      }
      if (best_gap > kBytes) best = end;
      ASSERT_EQ(occupied.smallest_gap(span, Bytes(bytes)), Bytes(best));
      const std::size_t at = random() % 50;
      occupied.take(span, Bytes(at), Bytes(bytes));
      for (std::size_t slot = span.first; slot <= span.last; ++slot) {
        for (std::size_t i = 0; i < bytes; ++i) taken[slot][at + i] = true;
      }
    }
  }
}

}  // namespace
}  // namespace tessera
