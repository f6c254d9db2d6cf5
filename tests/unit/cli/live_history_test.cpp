#include "live_history.hpp"

#include <gtest/gtest.h>

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// A sample at a time, with this much moved in and waited for so far, and these bytes on the device and in the host.
TopRow sample(std::uint64_t ns, std::uint64_t in, std::uint64_t device, std::uint64_t host, std::uint64_t wait_ns = 0) {
  TopRow row;
  row.pid = 42;
  row.name = "train";
  row.written_ns = ns;
  row.stats = {{"moves", {{"bytes_in", in}}},
               {"uses", {{"launches", ns / kSecond}}},
               {"stall_time_by_cause", {{"copy_in_ns", wait_ns}, {"work_ns", 0U}}},
               {"device_bytes_by_tag", {{"weights", device}}},
               {"host_bytes_by_tag", {{"weights", host}}}};
  return row;
}

TEST(LiveHistory, ThereIsNoneBeforeTheSecondSample) {
  LiveHistory history(kSecond);
  EXPECT_FALSE(history.picture().has_value());
  history.add(sample(kSecond, 0, 0, 0));
  EXPECT_FALSE(history.picture().has_value());
  history.add(sample(kSecond, 0, 0, 0));
  EXPECT_FALSE(history.picture().has_value()) << "the program has written nothing since";
}

TEST(LiveHistory, WhatHappenedIsSpreadOverTheTimeBetween) {
  LiveHistory history(kSecond);
  history.add(sample(10 * kSecond, 1000, 0, 0));
  history.add(sample(10 * kSecond + kSecond / 2, 1100, 50, 8));
  history.add(sample(12 * kSecond, 1400, 100, 0, 600));
  const auto run = history.picture();
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->program, "train");
  EXPECT_DOUBLE_EQ(run->slot_seconds, 1);
  EXPECT_DOUBLE_EQ(run->seconds, 2);
  EXPECT_EQ(run->links[0].values, (std::vector<double>{200, 200}));
  ASSERT_EQ(run->stalls.size(), 1U) << "no call waited for queued work";
  EXPECT_EQ(run->stalls[0].name, "copy_in");
  EXPECT_EQ(run->stalls[0].values, (std::vector<double>{200, 400}));
  ASSERT_EQ(run->tags.size(), 1U);
  EXPECT_EQ(run->tags[0].name, "weights");
  EXPECT_EQ(run->tags[0].bytes[0], (std::vector<double>{75, 100}));
  EXPECT_EQ(run->tags[0].bytes[2], (std::vector<double>{4, 0}));
}

TEST(LiveHistory, ThePartOfASlotSoFarIsItsMean) {
  LiveHistory history(kSecond);
  history.add(sample(kSecond, 0, 0, 0));
  history.add(sample(kSecond + kSecond / 4, 0, 100, 0));
  const auto run = history.picture();
  ASSERT_TRUE(run.has_value());
  EXPECT_DOUBLE_EQ(run->seconds, 0.25);
  EXPECT_EQ(run->tags[0].bytes[0], (std::vector<double>{100}));
}

TEST(LiveHistory, OldSlotsGo) {
  LiveHistory history(kSecond);
  for (std::uint64_t i = 0; i <= LiveHistory::kSlots + 50; ++i) history.add(sample((i + 1) * kSecond, i * i, i, 0));
  const auto run = history.picture();
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->slots(), LiveHistory::kSlots);
  EXPECT_DOUBLE_EQ(run->seconds, LiveHistory::kSlots);
  EXPECT_DOUBLE_EQ(run->links[0].values.back(), 250 * 250 - 249 * 249);
  EXPECT_DOUBLE_EQ(run->tags[0].bytes[0].front(), 51);
}

TEST(LiveHistory, BeginsAnewWithAnotherAllocatorAndAfterALongPause) {
  LiveHistory history(kSecond);
  history.add(sample(10 * kSecond, 0, 0, 0));
  history.add(sample(11 * kSecond, 100, 0, 0));
  TopRow other = sample(12 * kSecond, 7, 0, 0);
  other.stats["uses"]["launches"] = 0U;
  history.add(other);
  EXPECT_FALSE(history.picture().has_value());
  history.add(sample(13 * kSecond, 8, 0, 0));
  EXPECT_EQ(history.picture()->links[0].values, (std::vector<double>{1}));
  history.add(sample(14 * kSecond + LiveHistory::kSlots * kSecond, 9, 0, 0));
  EXPECT_FALSE(history.picture().has_value());
}

TEST(LiveHistory, StatisticsOfAnotherShapeAreNothing) {
  LiveHistory history(kSecond);
  for (std::uint64_t i = 1; i < 4; ++i) {
    TopRow row = sample(i * kSecond, 0, 0, 0);
    row.stats = {{"moves", 3}, {"stall_time_by_cause", {{"copy_in_ns", "long"}}}, {"device_bytes_by_tag", nullptr}};
    history.add(row);
  }
  ASSERT_TRUE(history.picture().has_value());
  EXPECT_TRUE(history.picture()->tags.empty());
  EXPECT_TRUE(history.picture()->stalls.empty());
}

}  // namespace
