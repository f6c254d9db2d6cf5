// Blocks above 1 MiB that share pages: bundles created and filled by the block cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

class BundledBlocksTest : public LayerTest {
 protected:
  static constexpr Bytes kWeight = 2304_KiB;  // of BERT; by itself each takes 4 MiB
  static constexpr Bytes kOther = 300_MiB;

  explicit BundledBlocksTest(LayerSizes sizes = {.device = 512_MiB})
      : LayerTest(sizes), a_(new_stream()), b_(new_stream()) {}

  Address allocate(Bytes bytes) { return take(blocks().allocate(bytes, a_, kTag)); }
  void free(Address address) { expect_ok(blocks().free(address, a_)); }
  // Two sizes, as in a transformer: four of one and two of the other.
  static Bytes mixed(int n) { return n % 6 < 4 ? kWeight : 4 * kWeight; }
  std::vector<Address> weights(int count) {
    std::vector<Address> made;
    for (int i = 0; i < count; ++i) made.push_back(allocate(kWeight));
    return made;
  }
  bool shares(Address block) { return pages().find(block)->owner.words.size() > 1; }

  const StreamId a_, b_;
};

TEST_F(BundledBlocksTest, BlocksOfABurstSharePagesAndNoByte) {
  allocate(kOther);
  const auto made = weights(41);
  EXPECT_LE(pages().stats().in_runs - kOther, kWeight * 41 + 24_MiB);
  std::uint8_t value = 0;
  for (const Address block : made) expect_ok(fill(block, ++value, kWeight, a_));
  value = 0;
  for (const Address block : made) EXPECT_TRUE(holds(block, ++value, kWeight, a_));
}

TEST_F(BundledBlocksTest, BlocksOfSeveralSizesFillOneRunAfterAnother) {
  allocate(kOther);
  std::vector<Address> made;
  Bytes sum;
  for (int n = 0; n < 36; ++n) {
    made.push_back(allocate(mixed(n)));
    sum += mixed(n);
    expect_ok(fill(made.back(), static_cast<std::uint8_t>(n), mixed(n), a_));
  }
  EXPECT_LE(pages().stats().in_runs - kOther, sum + 24_MiB);
  for (int n = 0; n < 36; ++n) {
    EXPECT_TRUE(holds(made[static_cast<std::size_t>(n)], static_cast<std::uint8_t>(n), mixed(n), a_));
    const BlockInfo block = take(blocks().find(made[static_cast<std::size_t>(n)] + (mixed(n) - 1_B)));
    EXPECT_EQ(block.address, made[static_cast<std::size_t>(n)]);
    EXPECT_EQ(block.bytes, mixed(n));
  }
}

TEST_F(BundledBlocksTest, BlocksOfABundleKeepTheirTagAndAreFreedOnce) {
  allocate(kOther);
  const auto made = weights(20);
  ASSERT_TRUE(shares(made[19]));
  const auto tags = blocks().tags();
  ASSERT_EQ(tags.size(), 1u);
  EXPECT_EQ(tags[0].live_bytes, kOther + 20 * kWeight);
  free(made[19]);
  EXPECT_EQ(blocks().free(made[19], a_).code(), Code::kNotFound);
  EXPECT_EQ(blocks().find(made[19]).status().code(), Code::kNotFound);
  EXPECT_EQ(blocks().free(made[18] + 1_B, a_).code(), Code::kNotFound);
}

TEST_F(BundledBlocksTest, AnEmptyBundleIsReturnedToThePages) {
  const auto made = weights(20);
  for (const Address block : made) free(block);
  EXPECT_GT(blocks().stats().bundles, 0u);
  EXPECT_EQ(blocks().stats().cached_bytes + 4_MiB * 3, pages().stats().in_runs) << "three are in the thread's cache";
  expect_ok(driver().synchronize(a_));
  expect_ok(blocks().trim());
  EXPECT_EQ(pages().stats().runs, 0u);
}

TEST_F(BundledBlocksTest, PlacesOfADestroyedStreamWaitForItsWork) {
  const auto made = weights(20);
  for (const Address block : made) free(block);
  auto held = hold(a_);
  expect_ok(blocks().retire(a_));
  expect_valid();
  held.reset();
  expect_ok(driver().synchronize(a_));
  expect_ok(blocks().trim());
  EXPECT_EQ(pages().stats().runs, 0u);
}

TEST_F(BundledBlocksTest, AllocationsBetweenFreesAreNotBundled) {
  allocate(kOther);
  weights(41);
  const Bytes in_runs = pages().stats().in_runs;
  for (int i = 0; i < 10; ++i) {
    free(allocate(4_KiB));
    EXPECT_FALSE(shares(allocate(kWeight)));
  }
  EXPECT_EQ(pages().stats().in_runs, in_runs + 10 * 4_MiB + kBasePage);
}

TEST_F(BundledBlocksTest, PlacesServeTheNextBurst) {
  allocate(kOther);
  const auto first = weights(41);
  const Bytes in_runs = pages().stats().in_runs;
  for (const Address block : first) free(block);
  const auto second = weights(41);
  EXPECT_TRUE(shares(second[40]));
  EXPECT_LE(pages().stats().in_runs, in_runs + 3 * 4_MiB) << "no more than it takes to see that it is one";
}

TEST_F(BundledBlocksTest, APlaceFreedOnAnotherStreamIsReusedOnceThatHasPassed) {
  allocate(kOther);
  const auto made = weights(41);
  ASSERT_TRUE(shares(made[40]));
  auto held = hold(b_);
  expect_ok(blocks().free(made[40], b_));
  const auto others = weights(20);
  EXPECT_EQ(std::count(others.begin(), others.end(), made[40]), 0);
  held.reset();
  expect_ok(driver().synchronize(b_));
  const auto more = weights(20);  // a part that was never used is free as well
  EXPECT_EQ(std::count(more.begin(), more.end(), made[40]), 1);
}

class NearlyFullTest : public BundledBlocksTest {
 protected:
  NearlyFullTest() : BundledBlocksTest({.device = 128_MiB, .host = 64_MiB, .staging = {}}) {}
};

TEST_F(NearlyFullTest, NoBlockFailsForLackOfRoomForABundle) {
  for (int i = 0; i < 6; ++i) allocate(30_MiB);
  weights(1);
  allocate(4_MiB);  // 188 of 192 MiB: another block fits, but not a bundle for two
  EXPECT_FALSE(shares(allocate(kWeight)));
  EXPECT_EQ(blocks().allocate(kWeight, a_, kTag).status().code(), Code::kOutOfMemory);
}

}  // namespace
}  // namespace tessera
