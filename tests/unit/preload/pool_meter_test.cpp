#include "pool_meter.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace tessera::preload {
namespace {

constexpr std::uint64_t kHalfPage = PoolMeter::kPage / 2;
constexpr std::uint64_t kUnlimited = 0;
constexpr std::uint64_t kAllRetained = ~std::uint64_t{0};

bool took(PoolMeter& meter, std::uint64_t bytes, std::uint64_t limit) {
  if (!meter.reserve(bytes, limit)) return false;
  meter.count(bytes, limit);
  return true;
}

TEST(PoolMeter, OneThreadsAmountsAreExact) {
  const auto meter = std::make_unique<PoolMeter>();
  std::mt19937 random(7);
  std::vector<std::uint64_t> live;
  std::uint64_t used = 0, high = 0;
  for (int step = 0; step < 20000; ++step) {
    if (live.empty() || random() % 5 < 3) {
      const std::uint64_t bytes = (random() % 4000 + 1) * 512;
      ASSERT_TRUE(took(*meter, bytes, kUnlimited));
      live.push_back(bytes);
      used += bytes;
    } else {
      const std::size_t which = random() % live.size();
      meter->give(live[which], kUnlimited);
      used -= live[which];
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
    }
    high = std::max(high, used);
    ASSERT_EQ(meter->used(), used) << step;
    ASSERT_EQ(meter->used_high(), high) << step;
    if (step % 1000 == 999) {
      meter->reset_used_high();
      high = used;
    }
  }
}

TEST(PoolMeter, ManyThreadsAddUp) {
  const auto meter = std::make_unique<PoolMeter>();
  std::vector<std::thread> threads;
  constexpr int kThreads = 24;  // more than there are shards
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&meter] {
      for (int i = 0; i < 5000; ++i) {
        EXPECT_TRUE(took(*meter, kHalfPage, kUnlimited));
        EXPECT_TRUE(took(*meter, 512, kUnlimited));
        meter->give(kHalfPage, kUnlimited);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  constexpr std::uint64_t kLeft = std::uint64_t{kThreads} * 5000 * 512;
  EXPECT_EQ(meter->used(), kLeft);
  EXPECT_GE(meter->used_high(), kLeft);
  EXPECT_LE(meter->used_high(), kLeft + kThreads * kHalfPage);
}

TEST(PoolMeter, ALimitAppliesToAllThreads) {
  const auto meter = std::make_unique<PoolMeter>();
  static constexpr std::uint64_t kLimit = 4 * kHalfPage;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&meter] {
      for (int i = 0; i < 2000; ++i) {
        if (!took(*meter, 3 * kHalfPage, kLimit)) continue;
        EXPECT_LE(meter->used(), kLimit);
        meter->give(3 * kHalfPage, kLimit);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(meter->used(), 0u);
  EXPECT_EQ(meter->used_high(), 3 * kHalfPage);
  EXPECT_TRUE(took(*meter, kLimit, kLimit));
  EXPECT_FALSE(took(*meter, 512, kLimit));
}

TEST(PoolMeter, WhatIsTakenFromWhatAThreadKeptBackRaisesALoweredMark) {
  const auto meter = std::make_unique<PoolMeter>();
  ASSERT_TRUE(took(*meter, 9 * kHalfPage, kUnlimited));
  meter->give(9 * kHalfPage, kUnlimited);
  meter->reset_used_high();
  ASSERT_TRUE(took(*meter, 3 * kHalfPage, kUnlimited));
  meter->give(3 * kHalfPage, kUnlimited);
  EXPECT_EQ(meter->used_high(), 3 * kHalfPage);
  EXPECT_EQ(meter->trim(0), 10 * kHalfPage);
  ASSERT_TRUE(took(*meter, 2 * kHalfPage, kUnlimited));
  meter->give(2 * kHalfPage, kUnlimited);
  EXPECT_EQ(meter->reserved(kAllRetained), 2 * kHalfPage);
}

TEST(PoolMeter, WhatFailsLeavesNoTrace) {
  const auto meter = std::make_unique<PoolMeter>();
  static constexpr std::uint64_t kLimit = 4 * kHalfPage;
  for (const std::uint64_t limit : {kUnlimited, kLimit}) {
    ASSERT_TRUE(meter->reserve(3 * kHalfPage, limit));
    meter->unreserve(3 * kHalfPage, limit);
    EXPECT_EQ(meter->used(), 0u);
    EXPECT_EQ(meter->used_high(), 0u);
  }
}

TEST(PoolMeter, WhatIsRetainedFollowsTheThresholdAndTrims) {
  const auto meter = std::make_unique<PoolMeter>();
  ASSERT_TRUE(took(*meter, 5 * kHalfPage, kUnlimited));
  ASSERT_TRUE(took(*meter, 9 * kHalfPage, kUnlimited));
  EXPECT_EQ(meter->reserved(0), 14 * kHalfPage);
  meter->give(9 * kHalfPage, kUnlimited);
  EXPECT_EQ(meter->reserved(0), 6 * kHalfPage) << "in whole pages";
  EXPECT_EQ(meter->reserved(8 * kHalfPage), 8 * kHalfPage);
  EXPECT_EQ(meter->reserved(kAllRetained), 14 * kHalfPage);
  EXPECT_EQ(meter->reserved_high(0), 14 * kHalfPage);
  EXPECT_EQ(meter->trim(10 * kHalfPage), 4 * kHalfPage);
  EXPECT_EQ(meter->reserved(kAllRetained), 10 * kHalfPage);
  EXPECT_EQ(meter->trim(0), 4 * kHalfPage) << "a trim leaves what is in use";
  EXPECT_EQ(meter->trim(0), 0u);
  EXPECT_EQ(meter->reserved(kAllRetained), 6 * kHalfPage);
  EXPECT_EQ(meter->reserved_high(kAllRetained), 14 * kHalfPage);
  meter->reset_reserved_high(kAllRetained);
  EXPECT_EQ(meter->reserved_high(kAllRetained), 6 * kHalfPage);
  meter->give(5 * kHalfPage, kUnlimited);
  EXPECT_EQ(meter->reserved_high(0), 6 * kHalfPage);
  meter->clear();
  EXPECT_EQ(meter->used(), 0u);
  EXPECT_EQ(meter->reserved_high(kAllRetained), 0u);
}

}  // namespace
}  // namespace tessera::preload
