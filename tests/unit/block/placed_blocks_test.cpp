// Blocks of a repeated iteration, placed by plan: the block cache over a simulated device.
#include "block/placed_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "block/bundle.hpp"
#include "layer_fixture.hpp"

namespace tessera {
namespace {

class PlacedBlocksTest : public LayerTest {
 protected:
  static constexpr Bytes kActivation = 2304_KiB;  // by itself each takes 4 MiB
  static constexpr int kLayers = 32;
  static constexpr Bytes kSeen = 4_KiB;  // of each block

  PlacedBlocksTest() : LayerTest({.device = 128_MiB, .host = 512_MiB}), a_(new_stream()), b_(new_stream()) {}

  Address allocate(Bytes bytes) { return take(blocks().allocate(bytes, a_, kTag)); }
  void free(Address address) { expect_ok(blocks().free(address, a_)); }
  bool shares(Address block) {
    auto* const owner = static_cast<BlockOwner*>(pages().find(block)->owner.record);
    return owner->kind == OwnerKind::kBundle && static_cast<Bundle*>(owner)->planned;
  }

  // Exceeds the device, so that memory is short.
  void fall_short() { model_ = allocate(104_MiB); }
  // Forward and backward passes, each activation made from the previous one, and read again. Returns for each whether
  // it shares its run, and with which others: runs are numbered in order of appearance.
  std::vector<int> iterate(int layers = kLayers) {
    std::vector<Address> made;
    std::vector<int> runs;
    std::map<Run*, int> known;
    for (int n = 0; n < layers; ++n) {
      made.push_back(allocate(kActivation));
      if (n > 0) expect_ok(fill(made[made.size() - 2] + kSeen, 1, kSeen, a_));
      expect_ok(fill(made.back(), static_cast<std::uint8_t>(n + 1), kSeen, a_));
      Run* const run = pages().find(made.back());
      runs.push_back(shares(made.back()) ? known.try_emplace(run, static_cast<int>(known.size())).first->second : -1);
    }
    held_ = std::max(held_, pages_held(made));
    for (int n = layers; n-- > 0;) {
      const Address gradient = allocate(3_MiB);
      EXPECT_TRUE(holds(made[static_cast<std::size_t>(n)], static_cast<std::uint8_t>(n + 1), kSeen, a_));
      free(gradient);
      free(made[static_cast<std::size_t>(n)]);
    }
    return runs;
  }
  Bytes pages_held(const std::vector<Address>& made) {
    std::map<Run*, Bytes> runs;
    for (const Address block : made) runs[pages().find(block)] = pages().find(block)->shape.bytes();
    Bytes sum;
    for (const auto& [run, bytes] : runs) sum += bytes;
    return sum;
  }
  static std::ptrdiff_t sharing(const std::vector<int>& runs) {
    return std::ranges::count_if(runs, [](int run) { return run >= 0; });
  }

  const StreamId a_, b_;
  Address model_;
  Bytes held_;
};

TEST_F(PlacedBlocksTest, ARepeatedIterationSharesRunsFromItsSecondPass) {
  fall_short();
  EXPECT_EQ(sharing(iterate()), 0);
  const Bytes alone = std::exchange(held_, Bytes());
  const std::vector<int> second = iterate();
  EXPECT_GE(sharing(second), kLayers - static_cast<int>(kContext));
  EXPECT_LE(held_, alone * 3 / 4);
  for (int pass = 0; pass < 3; ++pass) EXPECT_EQ(iterate(), second);
}

// It is the same iteration, although its blocks had their own runs in the first one.
TEST_F(PlacedBlocksTest, AnIterationIsLearnedHalfwayThroughItsSecondPass) {
  model_ = allocate(24_MiB);
  const int works[128] = {};
  const auto launch = [this](const int& work, std::vector<Run*> runs) {
    Use use{.work = &work};
    expect_ok(residency().begin_use(runs, a_, Access::kWrite, Use::Kind::kGate, use));
    residency().end_use(runs, a_, use);
    residency().advance();
  };
  const auto foreseen_of_the_way_back = [&] {
    std::vector<Address> made;
    int foreseen = 0;
    for (int n = 0; n < 64; ++n) {
      Run* const before = n == 0 ? pages().find(model_) : pages().find(made.back());
      made.push_back(allocate(kActivation));
      launch(works[n], {before, pages().find(made.back())});
    }
    for (int n = 64; n < 128; ++n) {
      Run* const run = pages().find(made.back());
      launch(works[n], {run});
      foreseen += run->uses.next != 0 ? 1 : 0;
      free(made.back());
      made.pop_back();
    }
    return foreseen;
  };
  EXPECT_EQ(foreseen_of_the_way_back(), 0);
  EXPECT_EQ(foreseen_of_the_way_back(), 64);
}

TEST_F(PlacedBlocksTest, PlacesNothingWhileAllFits) {
  const auto small = [this] { return iterate(16); };
  EXPECT_EQ(sharing(small()), 0);
  for (int pass = 0; pass < 3; ++pass) EXPECT_EQ(sharing(small()), 0);
}

TEST_F(PlacedBlocksTest, ADifferentIterationIsNotPlacedAndTheNextIs) {
  fall_short();
  iterate();
  const std::vector<int> placed = iterate();
  ASSERT_GT(sharing(placed), 0);
  const std::vector<int> shorter = iterate(kLayers / 2);  // it ends too early: its first half is unchanged
  EXPECT_EQ(shorter, std::vector<int>(placed.begin(), placed.begin() + kLayers / 2));
  EXPECT_EQ(iterate(), placed);
  allocate(7_MiB);  // stays allocated: the sum of live bytes differs from now on
  EXPECT_EQ(sharing(iterate()), 0);
  EXPECT_GT(sharing(iterate()), 0);
}

TEST_F(PlacedBlocksTest, DoesNotWaitForABusyPlace) {
  fall_short();
  iterate();
  iterate();
  std::vector<Address> made, again;
  for (int n = 0; n < kLayers; ++n) made.push_back(allocate(kActivation));
  ASSERT_TRUE(shares(made.back()));
  for (const Address block : made) expect_ok(blocks().free(block, b_));  // a stream that has not reached the frees
  for (int n = 0; n < kLayers; ++n) again.push_back(allocate(kActivation));
  for (const Address block : again) free(block);
  expect_ok(driver().synchronize(b_));
  expect_ok(blocks().trim());
}

TEST_F(PlacedBlocksTest, EmptyRunsAreReturnedAndRecreated) {
  fall_short();
  iterate();
  const std::vector<int> placed = iterate();
  expect_ok(driver().synchronize(a_));
  expect_ok(blocks().trim());
  EXPECT_EQ(pages().stats().in_runs, 104_MiB);
  EXPECT_EQ(iterate(), placed);
}

TEST_F(PlacedBlocksTest, APinnedBlockIsNotShared) {
  fall_short();
  const auto with_pin = [this] {
    std::vector<Address> made;
    for (int n = 0; n < kLayers; ++n) {
      made.push_back(allocate(kActivation));
      if (n > 0) expect_ok(fill(made[made.size() - 2], 1, kSeen, a_));
    }
    Run* const run = pages().find(made[20]);
    const bool shared = shares(made[20]);
    run->pins.fetch_add(1);
    for (const Address block : made) {
      if (block != made[20]) free(block);
    }
    const Address last = allocate(3_MiB);
    free(made[20]);
    run->pins.fetch_sub(1);
    free(last);
    return shared;
  };
  EXPECT_FALSE(with_pin());
  EXPECT_FALSE(with_pin());
  EXPECT_FALSE(with_pin());
}

TEST_F(PlacedBlocksTest, ALaunchOfManyBlocksFitsAsItDidBefore) {
  fall_short();
  free(model_);
  const auto with_sum = [this] {  // of every fourth block
    std::vector<Address> made;
    std::vector<Run*> runs;
    for (int n = 0; n < kLayers; ++n) {
      made.push_back(allocate(kActivation));
      if (n > 0) expect_ok(fill(made[made.size() - 2], 1, kSeen, a_));
      if (n % 4 == 0) runs.push_back(pages().find(made.back()));
    }
    Use use;
    expect_ok(residency().begin_use(runs, a_, Access::kRead, Use::Kind::kGate, use));
    residency().end_use(runs, a_, use);
    residency().advance();
    Bytes largest;
    for (Run* const run : runs) largest = std::max(largest, run->shape.bytes());
    for (; !made.empty(); made.pop_back()) free(made.back());
    return largest;
  };
  EXPECT_EQ(with_sum(), 4_MiB);
  for (int pass = 0; pass < 3; ++pass) EXPECT_LE(with_sum(), (128_MiB - 8 * 4_MiB) / 8);
}

TEST_F(PlacedBlocksTest, ADestroyedStreamDropsItsPlaces) {
  fall_short();
  iterate();
  ASSERT_GT(sharing(iterate()), 0);
  expect_ok(blocks().retire(a_));
  expect_ok(driver().synchronize(a_));
  expect_ok(blocks().trim());
  EXPECT_EQ(pages().stats().in_runs, 104_MiB);
}

// Asked directly: `places` is how many of 32 blocks that live at once are placed in a pass.
class PlacedPassesTest : public ::testing::Test {
 protected:
  int places(bool sizes_vary) {
    std::vector<Address> made;
    int placed = 0;
    for (int n = 0; n < 32; ++n) {
      const PlacedBlocks::Asked asked = placed_.ask(2304_KiB, StreamId(1), TagId(1), true, sizes_vary);
      placed += asked.spot ? 1 : 0;
      made.push_back(Address(++next_ << 26));
      placed_.note_served(asked, AllocationLog::Stay{made.back(), !asked.spot, ++epoch_});
    }
    for (; !made.empty(); made.pop_back()) placed_.note_freed(made.back(), false, ++epoch_);
    return placed;
  }

  PlacedBlocks placed_{64_MiB, [] { return 64_MiB; }};
  std::uint64_t next_ = 0;
  Epoch epoch_;
};

TEST_F(PlacedPassesTest, PlacementDoesNotBeginWhileSizesVary) {
  for (int pass = 0; pass < 3; ++pass) EXPECT_EQ(places(true), 0);
  EXPECT_EQ(places(false), 32);
}

// Its iterations are learned with the runs that they share.
TEST_F(PlacedPassesTest, PlacementThatHasBegunGoesOn) {
  for (int pass = 0; pass < 2; ++pass) places(false);
  EXPECT_EQ(places(true), 32);
}

}  // namespace
}  // namespace tessera
