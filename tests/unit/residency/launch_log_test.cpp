#include "residency/iteration/launch_log.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using DeviceRun = tessera::Run;  // a test has a member Run() of its own

class LaunchLogTest : public ::testing::Test {
 protected:
  LaunchLog::Batch taken() {
    LaunchLog::Batch batch;
    log_.take(batch);
    return batch;
  }

  LaunchLog log_;
  DeviceRun a_{Address(0x1000), RunShape{0, 2}, TagId()};
  DeviceRun b_{Address(0x9000), RunShape{0, 2}, TagId()};
  const char work_[1] = {};
};

TEST_F(LaunchLogTest, IsOnForeverOrForALimitedNumberOfLaunches) {
  DeviceRun* const one[] = {&a_};
  EXPECT_FALSE(log_.is_on());
  log_.switch_on_for(2);
  log_.note(work_, one, Epoch(5), true, std::nullopt, StreamId());
  EXPECT_TRUE(log_.is_on());
  log_.note(work_, one, Epoch(6), true, std::nullopt, StreamId());
  EXPECT_FALSE(log_.is_on());
  log_.switch_on();
  for (std::uint64_t epoch = 7; epoch < 20; ++epoch)
    log_.note(work_, one, Epoch(epoch), true, std::nullopt, StreamId());
  EXPECT_TRUE(log_.is_on());
  log_.switch_off();
  EXPECT_FALSE(log_.is_on());
}

TEST_F(LaunchLogTest, RecordsTheStream) {
  DeviceRun* const one[] = {&a_};
  log_.note(work_, one, Epoch(5), true, std::nullopt, StreamId(7));
  LaunchLog::Batch batch;
  log_.take(batch);
  ASSERT_EQ(batch.launches.size(), 1U);
  EXPECT_EQ(batch.launches[0].stream, StreamId(7));
}

TEST_F(LaunchLogTest, TellsBetweenWhichLaunchesOtherWorkWasQueued) {
  DeviceRun* const one[] = {&a_};
  EXPECT_TRUE(log_.note_other(3, StreamId(7)));
  EXPECT_FALSE(log_.has_news());
  log_.note(work_, one, Epoch(5), true, std::nullopt, StreamId());
  EXPECT_TRUE(log_.note_other(4, StreamId(8)));
  const LaunchLog::Batch batch = taken();
  ASSERT_EQ(batch.others.size(), 2U);
  EXPECT_EQ(batch.others[0].before, 0U);
  EXPECT_EQ(batch.others[0].stream, StreamId(7));
  EXPECT_EQ(batch.others[1].before, 1U);
  EXPECT_EQ(batch.others[1].watch, 4U);
  EXPECT_TRUE(taken().others.empty());
}

TEST_F(LaunchLogTest, TimesAFewPiecesOfOtherWorkAfterEachLaunch) {
  DeviceRun* const one[] = {&a_};
  for (int launch = 0; launch < 2; ++launch) {
    for (std::size_t i = 0; i < LaunchLog::kMostOthers; ++i) {
      ASSERT_TRUE(log_.takes_other());
      ASSERT_TRUE(log_.note_other(0, StreamId(7)));
    }
    EXPECT_FALSE(log_.takes_other());
    log_.note(work_, one, Epoch(5), true, std::nullopt, StreamId());
  }
  EXPECT_TRUE(log_.takes_other());
}

TEST_F(LaunchLogTest, RefusesOtherWorkBeyondItsBound) {
  for (std::size_t i = 0; i < LaunchLog::kMaxLaunches; ++i) ASSERT_TRUE(log_.note_other(0, StreamId()));
  EXPECT_FALSE(log_.note_other(0, StreamId()));
  EXPECT_FALSE(taken().lost);
}

TEST_F(LaunchLogTest, HasNewsOnlyFromTheRequestedCount) {
  DeviceRun* const one[] = {&a_};
  log_.look_from(2);
  log_.note(work_, one, Epoch(5), true, std::nullopt, StreamId());
  EXPECT_FALSE(log_.has_news());
  log_.note(work_, one, Epoch(6), true, std::nullopt, StreamId());
  EXPECT_TRUE(log_.has_news());
  log_.look_from(3);
  EXPECT_FALSE(log_.has_news());
  log_.look_from(1);
  EXPECT_TRUE(log_.has_news());
  EXPECT_EQ(taken().launches.size(), 2u);
  EXPECT_FALSE(log_.has_news());
}

TEST_F(LaunchLogTest, ReturnsLaunchesInOrderAndOnce) {
  DeviceRun* const both[] = {&a_, &b_};
  DeviceRun* const one[] = {&b_};
  log_.note(work_, both, Epoch(5), true, std::nullopt, StreamId());
  log_.note(nullptr, one, Epoch(6), false, 3, StreamId());
  EXPECT_TRUE(log_.has_news());
  const LaunchLog::Batch batch = taken();
  ASSERT_EQ(batch.launches.size(), 2u);
  EXPECT_EQ(batch.launches[0].work, work_);
  EXPECT_EQ(batch.launches[0].uses, 2u);
  EXPECT_EQ(batch.launches[1].epoch, Epoch(6));
  EXPECT_EQ(batch.launches[1].watch, 3u);
  ASSERT_EQ(batch.uses.size(), 3u);
  EXPECT_EQ(batch.uses[2].run, &b_);
  EXPECT_TRUE(batch.uses[0].writes);
  EXPECT_FALSE(batch.uses[2].writes);
  EXPECT_FALSE(log_.has_news());
  EXPECT_TRUE(taken().launches.empty());
}

TEST_F(LaunchLogTest, MarksOnlyTheFirstUseOfABlockFresh) {
  DeviceRun* const one[] = {&a_};
  log_.note(work_, one, Epoch(1), true, std::nullopt, StreamId());
  log_.note(work_, one, Epoch(2), true, std::nullopt, StreamId());
  a_.fresh.store(true);
  log_.note(work_, one, Epoch(3), true, std::nullopt, StreamId());
  const LaunchLog::Batch batch = taken();
  EXPECT_TRUE(batch.uses[0].fresh);
  EXPECT_FALSE(batch.uses[1].fresh);
  EXPECT_TRUE(batch.uses[2].fresh);
}

TEST_F(LaunchLogTest, RecordsTheRecomputeCostUntilTheBlockIsReallocated) {
  DeviceRun* const one[] = {&a_};
  log_.note(work_, one, Epoch(1), true, std::nullopt, StreamId());
  a_.recomputed_in.store(77);
  log_.note(work_, one, Epoch(2), false, std::nullopt, StreamId());
  a_.fresh.store(true);
  log_.note(work_, one, Epoch(3), false, std::nullopt, StreamId());
  const LaunchLog::Batch batch = taken();
  EXPECT_EQ(batch.uses[0].recomputed_in, Nanoseconds());
  EXPECT_EQ(batch.uses[1].recomputed_in, Nanoseconds(77));
  EXPECT_EQ(batch.uses[2].recomputed_in, Nanoseconds());
}

TEST_F(LaunchLogTest, ReportsWritesNotedLate) {
  DeviceRun* const one[] = {&a_};
  log_.note(work_, one, Epoch(7), false, std::nullopt, StreamId());
  log_.note_write(a_, Epoch(7));
  const LaunchLog::Batch batch = taken();
  ASSERT_EQ(batch.writes.size(), 1u);
  EXPECT_EQ(batch.writes[0].first, Epoch(7));
  EXPECT_EQ(batch.writes[0].second, &a_);
}

TEST_F(LaunchLogTest, WhenFullDropsTheNewestAndReportsIt) {
  DeviceRun* const one[] = {&a_};
  for (std::uint64_t i = 1; i <= LaunchLog::kMaxLaunches + 1; ++i) {
    log_.note(work_, one, Epoch(i), false, std::nullopt, StreamId());
  }
  const LaunchLog::Batch batch = taken();
  EXPECT_EQ(batch.launches.size(), LaunchLog::kMaxLaunches);
  EXPECT_EQ(batch.launches.back().epoch, Epoch(LaunchLog::kMaxLaunches));
  EXPECT_TRUE(batch.lost);
  EXPECT_FALSE(taken().lost);
}

TEST_F(LaunchLogTest, WhenUsesAreFullDropsTheNewestAndAllAfter) {
  const std::vector<DeviceRun*> many(5000, &a_);
  const std::size_t fit = LaunchLog::kMaxUses / many.size();
  for (std::size_t i = 0; i <= fit; ++i) log_.note(work_, many, Epoch(i + 1), false, std::nullopt, StreamId());
  DeviceRun* const one[] = {&a_};
  log_.note(work_, one, Epoch(fit + 2), false, std::nullopt, StreamId());
  log_.note_write(a_, Epoch(fit + 2));
  const LaunchLog::Batch batch = taken();
  EXPECT_EQ(batch.launches.size(), fit);
  EXPECT_LE(batch.uses.size(), LaunchLog::kMaxUses);
  EXPECT_TRUE(batch.writes.empty());
  EXPECT_TRUE(batch.lost);
}

TEST_F(LaunchLogTest, DropsLaunchesAfterTooManyWrites) {
  DeviceRun* const one[] = {&a_};
  log_.note(work_, one, Epoch(1), false, std::nullopt, StreamId());
  for (std::size_t i = 0; i <= LaunchLog::kMaxUses; ++i) log_.note_write(a_, Epoch(1));
  log_.note(work_, one, Epoch(2), false, std::nullopt, StreamId());
  const LaunchLog::Batch batch = taken();
  EXPECT_EQ(batch.writes.size(), LaunchLog::kMaxUses);
  EXPECT_EQ(batch.launches.size(), 1u);
  EXPECT_TRUE(batch.lost);
}

TEST_F(LaunchLogTest, RecordsWhenThePreviousBlockWasFreed) {
  DeviceRun* const one[] = {&a_};
  a_.freed.store(Epoch(7));
  log_.note(work_, one, Epoch(8), true, std::nullopt, StreamId());
  log_.note(work_, one, Epoch(9), true, std::nullopt, StreamId());
  const LaunchLog::Batch batch = taken();
  EXPECT_EQ(batch.uses[0].freed, Epoch(7));
  EXPECT_EQ(batch.uses[1].freed, Epoch());
}

TEST_F(LaunchLogTest, NumbersLaunchesSoThatAFreeLiesBetweenTwo) {
  DeviceRun* const one[] = {&a_};
  log_.note(work_, one, Epoch(1), true, std::nullopt, StreamId());
  log_.note(work_, one, Epoch(1), true, std::nullopt, StreamId());
  taken();
  EXPECT_EQ(log_.last(), 2u);
  a_.freed_at.store(log_.last());
  a_.fresh.store(true);
  log_.note(work_, one, Epoch(1), true, std::nullopt, StreamId());
  const LaunchLog::Batch batch = taken();
  EXPECT_EQ(batch.launches[0].number, 3u);
  EXPECT_EQ(batch.uses[0].freed_at, 2u);
}

TEST_F(LaunchLogTest, CallsAtTheRequestedLaunch) {
  DeviceRun* const one[] = {&a_};
  log_.call_at(2);
  log_.note(work_, one, Epoch(1), true, std::nullopt, StreamId());
  EXPECT_FALSE(log_.calls());
  log_.note(work_, one, Epoch(2), true, std::nullopt, StreamId());
  EXPECT_TRUE(log_.calls());
  taken();
  EXPECT_FALSE(log_.calls());
  log_.note(work_, one, Epoch(3), true, std::nullopt, StreamId());
  log_.note(work_, one, Epoch(4), true, std::nullopt, StreamId());
  EXPECT_FALSE(log_.calls()) << "it was asked for once";
}

TEST_F(LaunchLogTest, CallsAtOnceForARecordedLaunch) {
  DeviceRun* const one[] = {&a_};
  log_.note(work_, one, Epoch(1), true, std::nullopt, StreamId());
  log_.call_at(1);
  EXPECT_TRUE(log_.calls());
  log_.call_at(0);
  EXPECT_FALSE(log_.calls());
}

}  // namespace
}  // namespace tessera
