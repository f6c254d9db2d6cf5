#include "base/extent_map.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tessera {
namespace {

using Extent = ExtentMap::Extent;

TEST(ExtentMap, AnEmptyMapHasNoExtent) {
  ExtentMap map;
  EXPECT_FALSE(map.take(1));
  EXPECT_EQ(map.largest(), 0u);
  EXPECT_FALSE(map.extent_at(0));
  EXPECT_TRUE(map.validate().is_ok());
}

TEST(ExtentMap, TakesTheSmallestExtentThatFits) {
  ExtentMap map;
  map.give(0, 100);
  map.give(200, 5);
  map.give(300, 10);
  EXPECT_EQ(map.take(5), 200u);
  EXPECT_EQ(map.take(6), 300u);
  EXPECT_EQ(map.take(6), 0u);
}

TEST(ExtentMap, TakesTheLowestAmongEquals) {
  ExtentMap map;
  map.give(300, 8);
  map.give(100, 8);
  map.give(200, 8);
  EXPECT_EQ(map.take(8), 100u);
  EXPECT_EQ(map.take(8), 200u);
}

TEST(ExtentMap, AlignmentSkipsExtentsThatHoldTheCountOnlyUnaligned) {
  ExtentMap map;
  map.give(1, 17);   // 16 units aligned to 16 do not fit here
  map.give(40, 30);  // 48..63 does
  EXPECT_EQ(map.take(16, 16), 48u);
  EXPECT_EQ(map.extent_at(40), (Extent{40, 8}));
  EXPECT_EQ(map.extent_at(64), (Extent{64, 6}));
  EXPECT_FALSE(map.extent_at(48));
}

TEST(ExtentMap, AReturnedExtentMergesWithBothNeighbours) {
  ExtentMap map;
  map.give(0, 10);
  map.give(20, 10);
  EXPECT_EQ(map.extents(), 2u);
  map.give(10, 10);
  EXPECT_EQ(map.extents(), 1u);
  EXPECT_EQ(map.extent_at(15), (Extent{0, 30}));
  EXPECT_EQ(map.free_count(), 30u);
}

TEST(ExtentMap, ExtentsCanBeWalkedInOrderOfAddress) {
  ExtentMap map;
  map.give(20, 10);
  map.give(5, 2);
  EXPECT_EQ(map.next_extent(0), (Extent{5, 2}));
  EXPECT_EQ(map.next_extent(6), (Extent{5, 2}));
  EXPECT_EQ(map.next_extent(7), (Extent{20, 10}));
  EXPECT_FALSE(map.next_extent(30));
}

TEST(ExtentMap, TakeExactlyTakesAllOrNothing) {
  ExtentMap map;
  map.give(10, 10);
  EXPECT_FALSE(map.take_exactly(9, 2));
  EXPECT_FALSE(map.take_exactly(19, 2));
  EXPECT_FALSE(map.take_exactly(30, 1));
  EXPECT_FALSE(map.take_exactly(12, ~std::uint64_t{0}));
  EXPECT_EQ(map.free_count(), 10u);
  EXPECT_TRUE(map.take_exactly(12, 3));
  EXPECT_EQ(map.extents(), 2u);
  EXPECT_FALSE(map.take_exactly(12, 1));
}

TEST(ExtentMap, AskingForZeroReturnsNone) {
  ExtentMap map;
  map.give(0, 4);
  map.give(8, 0);
  EXPECT_FALSE(map.take(0));
  EXPECT_FALSE(map.take_exactly(0, 0));
  EXPECT_EQ(map.extents(), 1u);
}

// One bool per unit: obviously right, and slow.
class Model {
 public:
  explicit Model(std::size_t units) : free_(units, false) {}

  bool all(std::uint64_t start, std::uint64_t count, bool free) const {
    for (std::uint64_t i = start; i < start + count; ++i)
      if (i >= free_.size() || free_[i] != free) return false;
    return true;
  }
  void set(std::uint64_t start, std::uint64_t count, bool free) {
    for (std::uint64_t i = start; i < start + count; ++i) free_[i] = free;
  }
  std::vector<Extent> extents() const {
    std::vector<Extent> result;
    for (std::uint64_t i = 0; i < free_.size(); ++i) {
      if (!free_[i]) continue;
      if (i > 0 && free_[i - 1]) {
        ++result.back().count;
      } else {
        result.push_back({i, 1});
      }
    }
    return result;
  }
  std::optional<std::uint64_t> best_fit(std::uint64_t count, std::uint64_t alignment) const {
    std::optional<Extent> best;
    for (const Extent& extent : extents()) {
      const std::uint64_t at = (extent.start + alignment - 1) / alignment * alignment;
      if (at + count > extent.start + extent.count) continue;
      if (!best || extent.count < best->count) best = extent;
    }
    if (!best) return std::nullopt;
    return (best->start + alignment - 1) / alignment * alignment;
  }

 private:
  std::vector<bool> free_;
};

TEST(ExtentMap, AgreesWithAModelOverRandomOperations) {
  constexpr std::uint64_t kUnits = 256;
  std::mt19937_64 random(20);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  ExtentMap map;
  Model model(kUnits);
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t start = below(kUnits);
    const std::uint64_t count = 1 + below(std::min<std::uint64_t>(24, kUnits - start));
    switch (below(3)) {
      case 0:
        if (!model.all(start, count, false)) break;
        map.give(start, count);
        model.set(start, count, true);
        break;
      case 1: {
        const std::uint64_t alignment = std::uint64_t{1} << below(5);
        const auto expected = model.best_fit(count, alignment);
        ASSERT_EQ(map.take(count, alignment), expected) << "step " << step;
        if (expected) model.set(*expected, count, false);
        break;
      }
      default:
        ASSERT_EQ(map.take_exactly(start, count), model.all(start, count, true)) << "step " << step;
        if (model.all(start, count, true)) model.set(start, count, false);
    }
    ASSERT_TRUE(map.validate().is_ok()) << map.validate().to_string();
    const auto extents = model.extents();
    ASSERT_EQ(map.extents(), extents.size());
    std::uint64_t total = 0;
    std::uint64_t largest = 0;
    for (const Extent& extent : extents) {
      ASSERT_EQ(map.extent_at(extent.start + below(extent.count)), extent);
      total += extent.count;
      largest = std::max(largest, extent.count);
    }
    ASSERT_EQ(map.free_count(), total);
    ASSERT_EQ(map.largest(), largest);
  }
}

}  // namespace
}  // namespace tessera
