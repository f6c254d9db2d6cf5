// Blocks above 1 MiB that share pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

class WideBlocksTest : public LayerTest {
 protected:
  static constexpr Bytes kWeight = 2304_KiB;  // of BERT; alone each takes 4 MiB
  static constexpr Bytes kOther = 300_MiB;

  explicit WideBlocksTest(LayerSizes sizes = {.device = 512_MiB}) : LayerTest(sizes), a_(new_stream()), b_(new_stream()) {}

  Address allocate(Bytes bytes) { return take(blocks().allocate(bytes, a_, kTag)); }
  void free(Address address) { expect_ok(blocks().free(address, a_)); }
  std::vector<Address> weights(int count) {
    std::vector<Address> made;
    for (int i = 0; i < count; ++i) made.push_back(allocate(kWeight));
    return made;
  }
  bool shares(Address block) { return pages().find(block)->owner.words.size() > 1; }

  const StreamId a_, b_;
};

TEST_F(WideBlocksTest, BlocksThatAreMadeInABurstSharePagesAndNoByte) {
  allocate(kOther);
  const auto made = weights(41);
  EXPECT_LE(pages().stats().in_runs - kOther, kWeight * 41 + 24_MiB);
  std::uint8_t value = 0;
  for (const Address block : made) expect_ok(fill(block, ++value, kWeight, a_));
  value = 0;
  for (const Address block : made) EXPECT_TRUE(holds(block, ++value, kWeight, a_));
}

TEST_F(WideBlocksTest, WhatComesWhileOthersGoKeepsRunsOfItsOwn) {
  allocate(kOther);
  weights(41);
  const Bytes in_runs = pages().stats().in_runs;
  for (int i = 0; i < 10; ++i) {
    free(allocate(4_KiB));
    EXPECT_FALSE(shares(allocate(kWeight)));
  }
  EXPECT_EQ(pages().stats().in_runs, in_runs + 10 * 4_MiB + kBasePage);
}

TEST_F(WideBlocksTest, SlotsServeTheNextBurst) {
  allocate(kOther);
  const auto first = weights(41);
  const Bytes in_runs = pages().stats().in_runs;
  for (const Address block : first) free(block);
  const auto second = weights(41);
  EXPECT_TRUE(shares(second[40]));
  EXPECT_LE(pages().stats().in_runs, in_runs + 3 * 4_MiB) << "no more than it takes to see that it is one";
}

TEST_F(WideBlocksTest, ASlotThatIsFreedOnAnotherStreamServesWhenThatHasPassed) {
  allocate(kOther);
  const auto made = weights(41);
  ASSERT_TRUE(shares(made[40]));
  auto held = hold(b_);
  expect_ok(blocks().free(made[40], b_));
  const auto others = weights(20);
  EXPECT_EQ(std::count(others.begin(), others.end(), made[40]), 0);
  held.reset();
  expect_ok(driver().synchronize(b_));
  const auto more = weights(20);  // what was never used is free as well
  EXPECT_EQ(std::count(more.begin(), more.end(), made[40]), 1);
}

class NearlyFullTest : public WideBlocksTest {
 protected:
  NearlyFullTest() : WideBlocksTest({.device = 128_MiB, .host = 64_MiB, .staging = {}}) {}
};

TEST_F(NearlyFullTest, NoBlockFailsForWantOfRoomForOthers) {
  for (int i = 0; i < 6; ++i) allocate(30_MiB);
  weights(2);  // 188 of 192 MiB: the third fits, and a slab for it does not
  EXPECT_FALSE(shares(allocate(kWeight)));
  EXPECT_EQ(blocks().allocate(kWeight, a_, kTag).status().code(), Code::kOutOfMemory);
}

}  // namespace
}  // namespace tessera
