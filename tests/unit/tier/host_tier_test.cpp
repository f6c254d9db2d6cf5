#include "tier/host_tier.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "sim_machine.hpp"

namespace tessera {
namespace {

constexpr DeviceId kDevice{0}, kOther{1};

class RefusingPages final : public HostPages {
 public:
  bool open(void* start, Bytes bytes) override {
    ++asked;
    if (refuses) errno = ENOMEM;
    return !refuses && system_host_pages().open(start, bytes);
  }
  void close(void* start, Bytes bytes) override { system_host_pages().close(start, bytes); }
  int asked = 0;
  bool refuses = false;
};

class HostTierTest : public testing::Test {
 protected:
  void TearDown() override { machine_.finish(); }

  static void expect_sound(const HostTier& tier) {
    EXPECT_TRUE(tier.validate().is_ok()) << tier.validate().to_string();
  }

  SimMachine machine_;
};

TEST_F(HostTierTest, AFrameIsPinnedMemory) {
  HostTier tier(machine_.driver(), 64_MiB, Bytes());
  const Frame frame = tier.take(PageClass::kLarge).value();
  std::memset(HostTier::bytes_of(frame), 0x5a, frame.bytes().value());
  EXPECT_TRUE(machine_.driver().is_registered(HostTier::bytes_of(frame), frame.bytes()));
  EXPECT_TRUE(tier.pinned());
  tier.give_back(frame);
}

TEST_F(HostTierTest, AFullBudgetLeavesTheStagingReserve) {
  HostTier tier(machine_.driver(), 32_MiB, 32_MiB);
  tier.add_reserve(kDevice);
  const Frame ordinary = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(tier.take(PageClass::kBase).status().code(), Code::kOutOfMemory);
  const Frame staging = tier.take_staging(PageClass::kLarge, kDevice).value();
  EXPECT_EQ(tier.take_staging(PageClass::kBase, kDevice).status().code(), Code::kBusy);
  EXPECT_EQ(tier.usage().used, 32_MiB) << "staging is not part of the budget";
  expect_sound(tier);
  tier.give_back_staging(staging);
  const auto again = tier.take_staging(PageClass::kBase, kDevice);
  EXPECT_TRUE(again.is_ok());
  tier.give_back_staging(again.value());
  tier.give_back(ordinary);
}

class PlacedPages final : public HostPages {
 public:
  void place(void* start, Bytes bytes, unsigned node) override { placed.push_back({start, bytes, node}); }
  bool open(void* start, Bytes bytes) override {
    opened.push_back({start, bytes, placed.empty() ? 0 : placed.back().node});
    return system_host_pages().open(start, bytes);
  }
  void close(void* start, Bytes bytes) override { system_host_pages().close(start, bytes); }

  struct Place {
    void* start;
    Bytes bytes;
    unsigned node;
    bool operator==(const Place&) const = default;
  };
  std::vector<Place> placed, opened;
};

TEST_F(HostTierTest, MemoryIsOnTheNodeOfTheFirstDevice) {
  PlacedPages pages;
  {
    HostTier tier(machine_.driver(), 128_MiB, 32_MiB, pages);
    tier.add_reserve(kDevice);
    tier.settle(5);
    tier.settle(6);
    const Frame frame = tier.take(PageClass::kBase).value();
    const Frame staging = tier.take_staging(PageClass::kBase, kDevice).value();
    EXPECT_EQ(pages.placed.size(), 2u);
    EXPECT_EQ(pages.placed, pages.opened);
    EXPECT_EQ(pages.placed.front().node, 5u);
    tier.give_back(frame);
    tier.give_back_staging(staging);
  }
}

TEST_F(HostTierTest, ALaterReserveIsOnTheSameNode) {
  PlacedPages pages;
  {
    HostTier tier(machine_.driver(), 128_MiB, 32_MiB, pages);
    tier.settle(5);
    tier.add_reserve(kDevice);
    tier.give_back_staging(tier.take_staging(PageClass::kBase, kDevice).value());
    ASSERT_EQ(pages.placed.size(), 1u);
    EXPECT_EQ(pages.placed.front().node, 5u);
  }
}

TEST_F(HostTierTest, WithoutAPreferenceMemoryIsOnAnyNode) {
  PlacedPages pages;
  HostTier tier(machine_.driver(), 128_MiB, Bytes(), pages);
  tier.give_back(tier.take(PageClass::kBase).value());
  EXPECT_EQ(pages.opened.size(), 1u);
  EXPECT_TRUE(pages.placed.empty());
}

TEST_F(HostTierTest, NothingIsPinnedAheadForAProgramThatFits) {
  HostTier tier(machine_.driver(), 256_MiB, 64_MiB);
  tier.add_reserve(kDevice);
  EXPECT_FALSE(tier.grow_ahead());
  EXPECT_EQ(tier.usage().spare, Bytes());
}

TEST_F(HostTierTest, ExpectedUsePinsMemoryBeforeTheFirstFrame) {
  HostTier tier(machine_.driver(), 256_MiB, 64_MiB);
  tier.add_reserve(kDevice);
  EXPECT_FALSE(tier.grow_ahead());
  tier.expect_use();
  EXPECT_TRUE(tier.grow_ahead());
  EXPECT_EQ(tier.usage().spare, 64_MiB) << "one chunk, and no frame is taken";
  EXPECT_FALSE(tier.grow_ahead());
  tier.expect_use();
  EXPECT_FALSE(tier.grow_ahead()) << "said once";
}

TEST_F(HostTierTest, WithoutABudgetTheReserveIsPinnedAhead) {
  HostTier tier(machine_.driver(), Bytes(), 64_MiB);
  tier.add_reserve(kDevice);
  EXPECT_FALSE(tier.grow_ahead());
  tier.expect_use();
  for (int piece = 0; piece < 2; ++piece) EXPECT_TRUE(tier.grow_ahead()) << piece;
  EXPECT_FALSE(tier.grow_ahead());
}

TEST_F(HostTierTest, PinsOneChunkAheadOfUse) {
  HostTier tier(machine_.driver(), 256_MiB, Bytes());
  const Frame frame = tier.take(PageClass::kBase).value();
  EXPECT_EQ(tier.usage().spare, 62_MiB);
  EXPECT_TRUE(tier.grow_ahead());
  EXPECT_EQ(tier.usage().spare, 126_MiB);
  EXPECT_FALSE(tier.grow_ahead());
  tier.give_back(frame);
}

TEST_F(HostTierTest, GrowsAheadToTheBudgetAndThenItsStagingReserve) {
  HostTier tier(machine_.driver(), 96_MiB, 32_MiB);
  tier.add_reserve(kDevice);
  std::vector<Frame> frames;
  frames.push_back(tier.take(PageClass::kLarge).value());
  EXPECT_TRUE(tier.grow_ahead());
  EXPECT_EQ(tier.usage().spare, 64_MiB) << "all of the budget";
  EXPECT_FALSE(tier.grow_ahead()) << "64 MiB are free: staging is not near";
  frames.push_back(tier.take(PageClass::kLarge).value());
  EXPECT_TRUE(tier.grow_ahead()) << "the staging reserve";
  EXPECT_FALSE(tier.grow_ahead());
  expect_sound(tier);
  for (const Frame& frame : frames) tier.give_back(frame);
}

TEST_F(HostTierTest, EachDeviceHasAReserveOfItsOwn) {
  HostTier tier(machine_.driver(), 2_MiB, 64_MiB);
  for (const DeviceId device : {kDevice, kOther, kDevice}) tier.add_reserve(device);
  const auto use_all = [&tier] {
    std::vector<Frame> staging;
    for (const DeviceId device : {kDevice, kOther}) {
      for (int i = 0; i < 2; ++i) staging.push_back(tier.take_staging(PageClass::kLarge, device).value());
      EXPECT_EQ(tier.take_staging(PageClass::kBase, device).status().code(), Code::kBusy);
    }
    expect_sound(tier);
    for (const Frame& frame : staging) tier.give_back_staging(frame);
  };
  use_all();
  // A frame goes back to the reserve that it came from, even after it was adopted into the budget.
  const Frame adopted = tier.take_staging(PageClass::kBase, kOther).value();
  ASSERT_TRUE(tier.adopt(adopted).is_ok());
  expect_sound(tier);
  const Frame large = tier.take_staging(PageClass::kLarge, kOther).value();
  EXPECT_EQ(tier.take_staging(PageClass::kLarge, kOther).status().code(), Code::kBusy);
  tier.give_back_staging(large);
  tier.give_back(adopted);
  use_all();
}

TEST_F(HostTierTest, TheReserveOfEachDeviceIsPinnedAhead) {
  HostTier tier(machine_.driver(), Bytes(), 64_MiB);
  for (const DeviceId device : {kDevice, kOther}) tier.add_reserve(device);
  tier.expect_use();
  for (int piece = 0; piece < 4; ++piece) EXPECT_TRUE(tier.grow_ahead()) << piece;
  EXPECT_FALSE(tier.grow_ahead());
}

TEST_F(HostTierTest, StopsGrowingAheadAfterARefusal) {
  RefusingPages pages;
  {
    HostTier tier(machine_.driver(), 256_MiB, Bytes(), pages);
    const Frame frame = tier.take(PageClass::kBase).value();
    pages.refuses = true;
    EXPECT_FALSE(tier.grow_ahead());
    EXPECT_FALSE(tier.grow_ahead());
    EXPECT_EQ(pages.asked, 2) << "by take(), and once ahead";
    pages.refuses = false;
    std::vector<Frame> frames = {frame};
    for (int i = 0; i < 32; ++i) frames.push_back(tier.take(PageClass::kBase).value());
    EXPECT_EQ(pages.asked, 3) << "need asks as before";
    for (const Frame& taken : frames) tier.give_back(taken);
  }
}

TEST_F(HostTierTest, ABudgetOfZeroStillStages) {
  HostTier tier(machine_.driver(), Bytes(), 64_MiB);
  tier.add_reserve(kDevice);
  EXPECT_EQ(tier.take(PageClass::kBase).status().code(), Code::kOutOfMemory);
  const auto staging = tier.take_staging(PageClass::kLarge, kDevice);
  ASSERT_TRUE(staging.is_ok());
  EXPECT_EQ(tier.adopt(staging.value()).code(), Code::kOutOfMemory);
  tier.give_back_staging(staging.value());
}

TEST_F(HostTierTest, APageLargerThanTheReserveIsNotRetried) {
  HostTier tier(machine_.driver(), 64_MiB, 8_MiB);
  tier.add_reserve(kDevice);
  EXPECT_EQ(tier.take_staging(PageClass::kLarge, kDevice).status().code(), Code::kOutOfMemory);
}

TEST_F(HostTierTest, AnAdoptedFrameCountsForTheBudgetUntilItIsGivenBack) {
  HostTier tier(machine_.driver(), 64_MiB, 64_MiB);
  tier.add_reserve(kDevice);
  const Frame frame = tier.take_staging(PageClass::kBase, kDevice).value();
  std::memset(HostTier::bytes_of(frame), 7, frame.bytes().value());
  ASSERT_TRUE(tier.adopt(frame).is_ok());
  EXPECT_EQ(tier.usage().used, kBasePage);
  EXPECT_EQ(static_cast<unsigned char*>(HostTier::bytes_of(frame))[12345], 7);
  expect_sound(tier);
  tier.give_back(frame);
  EXPECT_EQ(tier.usage().used, Bytes());
  expect_sound(tier);
}

TEST_F(HostTierTest, AdoptionIsRefusedWhenTheBudgetIsFull) {
  HostTier tier(machine_.driver(), 2_MiB, 64_MiB);
  tier.add_reserve(kDevice);
  const Frame ordinary = tier.take(PageClass::kBase).value();
  const Frame staging = tier.take_staging(PageClass::kBase, kDevice).value();
  EXPECT_EQ(tier.adopt(staging).code(), Code::kOutOfMemory);
  expect_sound(tier);
  tier.give_back_staging(staging);
  tier.give_back(ordinary);
}

// Invariant: scattered adopted frames never prevent a large staging frame.
TEST_F(HostTierTest, ALargePageCanAlwaysBeStaged) {
  for (const Bytes reserve : {32_MiB, 48_MiB, 64_MiB, 80_MiB, 160_MiB}) {
    HostTier tier(machine_.driver(), 1_GiB, reserve);
    tier.add_reserve(kDevice);
    std::vector<Frame> staging;
    for (;;) {
      auto taken = tier.take_staging(PageClass::kBase, kDevice);
      if (!taken.is_ok()) break;
      staging.push_back(taken.value());
    }
    EXPECT_EQ(staging.size(), reserve / kBasePage);
    std::vector<Frame> adopted;
    for (const Frame& frame : staging) {
      if (tier.adopt(frame).is_ok()) {
        adopted.push_back(frame);
      } else {
        tier.give_back_staging(frame);
      }
    }
    EXPECT_EQ(adopted.empty(), reserve == 32_MiB);
    const auto large = tier.take_staging(PageClass::kLarge, kDevice);
    ASSERT_TRUE(large.is_ok()) << large.status().to_string();
    expect_sound(tier);
    tier.give_back_staging(large.value());
    for (const Frame& frame : adopted) tier.give_back(frame);
  }
}

TEST_F(HostTierTest, OutOfMemoryNamesTheBytes) {
  HostTier tier(machine_.driver(), 3_MiB, Bytes());
  const Frame frame = tier.take(PageClass::kBase).value();
  EXPECT_EQ(tier.take(PageClass::kBase).status().message(),
            "host tier: 2097152 bytes requested, 2097152 of 3145728 are in use: the "
            "budget is used up");
  tier.give_back(frame);
}

TEST_F(HostTierTest, WhatIsLentIsNotForPagesUntilItIsTakenBack) {
  HostTier tier(machine_.driver(), 128_MiB, Bytes());
  EXPECT_FALSE(tier.lend(129_MiB));
  ASSERT_TRUE(tier.lend(96_MiB));
  EXPECT_EQ(tier.usage().capacity, 32_MiB);
  EXPECT_EQ(tier.usage_with_staging().capacity, 128_MiB);
  const Frame frame = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(tier.take(PageClass::kBase).status().code(), Code::kOutOfMemory);
  expect_sound(tier);
  tier.take_back(96_MiB);
  const Frame other = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(tier.usage_with_staging().peak_used, 128_MiB);
  tier.give_back(frame);
  tier.give_back(other);
}

TEST_F(HostTierTest, YieldsWhatIsUnusedAndTakesNothingAheadAnyMore) {
  HostTier tier(machine_.driver(), 256_MiB, Bytes());
  const Frame kept = tier.take(PageClass::kLarge).value();
  std::vector<Frame> frames;
  for (int i = 0; i < 5; ++i) frames.push_back(tier.take(PageClass::kLarge).take());
  for (const Frame& frame : frames) tier.give_back(frame);
  EXPECT_GE(tier.yield(), 128_MiB);
  EXPECT_FALSE(tier.grow_ahead());
  EXPECT_EQ(tier.yield(), Bytes());
  expect_sound(tier);
  tier.give_back(kept);
}

}  // namespace
}  // namespace tessera
