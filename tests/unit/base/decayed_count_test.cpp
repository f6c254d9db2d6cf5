#include "base/decayed_count.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr std::uint64_t kWindow = std::uint64_t{1} << kDecayWindowBits;

TEST(DecayedCount, HalvesWithEachWindow) {
  EXPECT_EQ(decayed(4 * kOneEvent, 5, kWindow - 1), 4 * kOneEvent) << "the same window";
  EXPECT_EQ(decayed(4 * kOneEvent, 5, kWindow), 2 * kOneEvent);
  EXPECT_EQ(decayed(4 * kOneEvent, 5, 2 * kWindow), kOneEvent);
}

TEST(DecayedCount, DecaysToZeroAndNeverGrows) {
  EXPECT_EQ(decayed(~std::uint32_t{0}, 0, 32 * kWindow), 0u);
  EXPECT_EQ(decayed(~std::uint32_t{0}, 0, 64 * kWindow), 0u) << "a shift by its width would be undefined";
  EXPECT_EQ(decayed(7, 3 * kWindow, kWindow), 7u) << "a stamp may be ahead of who asks";
}

TEST(DecayedCount, OneEventPerTickNeverOverflows) {
  std::uint32_t count = 0;
  for (std::uint64_t tick = 1; tick < 40 * kWindow; ++tick) {
    count = decayed(count, tick - 1, tick) + kOneEvent;
    ASSERT_LT(count, std::uint32_t{1} << 24) << tick;
  }
}

}  // namespace
}  // namespace tessera
