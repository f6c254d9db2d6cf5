#include "residency/pages/named_starts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>

namespace tessera {
namespace {

class NamedStartsTest : public testing::Test {
 protected:
  std::vector<NamedStretch> in_order() const {
    std::vector<NamedStretch> stretches = starts_->stretches();
    std::ranges::sort(stretches, {}, &NamedStretch::offset);
    return stretches;
  }

  std::atomic<bool> due_{false};
  std::unique_ptr<NamedStarts> starts_ = std::make_unique<NamedStarts>(due_);
};

TEST_F(NamedStartsTest, EachAddressIsCounted) {
  starts_->note({0_B, 0_B});
  starts_->note({5_MiB, 0_B});
  starts_->note({0_B, 0_B});
  const auto found = in_order();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].offset, 0_B);
  EXPECT_EQ(found[0].times, 2U);
  EXPECT_EQ(found[0].bytes, 0_B);
  EXPECT_EQ(found[1].offset, 5_MiB);
  EXPECT_EQ(found[1].times, 1U);
}

TEST_F(NamedStartsTest, ALengthIsKept) {
  starts_->note({1_MiB, 3_MiB});
  starts_->note({1_MiB, 0_B});
  starts_->note({1_MiB, 2_MiB});
  const auto found = in_order();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].bytes, 3_MiB);
  EXPECT_EQ(found[0].times, 3U);
}

TEST_F(NamedStartsTest, ItIsDueOnceAfterAsManyNames) {
  starts_->expect(3);
  for (int i = 0; i < 2; ++i) starts_->note({0_B, 0_B});
  EXPECT_FALSE(due_.load());
  starts_->note({0_B, 0_B});
  EXPECT_TRUE(due_.load());
  due_.store(false);
  for (int i = 0; i < 10; ++i) starts_->note({0_B, 0_B});
  EXPECT_FALSE(due_.load());
}

TEST_F(NamedStartsTest, WhatIsOldCountsLessAndIsStillThere) {
  for (int i = 0; i < 9; ++i) starts_->note({0_B, 0_B});
  starts_->note({1_MiB, 0_B});
  starts_->halve();
  const auto found = in_order();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].times, 4U);
  EXPECT_EQ(found[1].times, 0U);
}

TEST_F(NamedStartsTest, WhatComesWhenItIsFullIsNotCounted) {
  for (std::size_t i = 0; i < 2 * NamedStarts::kMost; ++i) starts_->note({512_B * i, 0_B});
  EXPECT_TRUE(starts_->is_full());
  EXPECT_EQ(starts_->stretches().size(), NamedStarts::kMost);
  starts_->note({0_B, 0_B});
  EXPECT_EQ(in_order().front().times, 2U) << "what is known still is";
  starts_->clear();
  EXPECT_FALSE(starts_->is_full());
  EXPECT_TRUE(starts_->stretches().empty());
  starts_->note({7_MiB, 0_B});
  EXPECT_EQ(starts_->stretches().size(), 1U);
}

TEST_F(NamedStartsTest, ThreadsCountTogether) {
  constexpr std::uint64_t kEach = 10'000, kAddresses = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (std::uint64_t i = 0; i < kEach; ++i) starts_->note({4_KiB * (i % kAddresses), 0_B});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto found = in_order();
  ASSERT_EQ(found.size(), kAddresses);
  for (const NamedStretch& each : found) EXPECT_EQ(each.times, 4 * kEach / kAddresses);
}

}  // namespace
}  // namespace tessera
