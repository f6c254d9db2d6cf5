#include "residency/iteration/launch_history.hpp"

#include "launch_history_fixture.hpp"

namespace tessera {
namespace {

TEST_F(LaunchHistoryTest, OtherWorkCountsAheadOfTheNextLaunch) {
  launch_of(1, Nanoseconds(10));
  work_beside(Nanoseconds(200));
  work_beside(Nanoseconds(300));
  launch_of(2, Nanoseconds(20));
  EXPECT_EQ(durations_of(0, 2), (std::vector{Nanoseconds(10), Nanoseconds(20)}));
  EXPECT_EQ(history_.other_times(0, 2), (std::vector{Nanoseconds(), Nanoseconds(500)}));
}

// Before launches are timed, other work is not timed either: the next round tells.
TEST_F(LaunchHistoryTest, OtherWorkIsKnownFromARoundThatWasTimed) {
  launch_of(1, {});
  launch_of(2, {});
  launch_of(1, Nanoseconds(10));
  work_beside(Nanoseconds(400));
  launch_of(2, Nanoseconds(20));
  durations_of(0, 2);
  EXPECT_EQ(history_.other_times(0, 2), (std::vector{Nanoseconds(), Nanoseconds(400)}));
}

TEST_F(LaunchHistoryTest, ForgetsOtherWorkWithTheLaunchesAround) {
  for (int i = 0; i < 3; ++i) {
    work_beside(Nanoseconds(100));
    launch_of(1, Nanoseconds(10));
  }
  durations_of(0, 3);
  history_.drop_oldest(2);
  EXPECT_EQ(history_.other_times(2, 1), (std::vector{Nanoseconds(100)}));
}

TEST_F(LaunchHistoryTest, DropsTheOlderHalfExceptLaunchesInUse) {
  for (std::size_t i = 0; i < LaunchHistory::kMostSteps - 1; ++i) launch_of(i, {});
  history_.trim(history_.next());
  EXPECT_EQ(history_.size(), LaunchHistory::kMostSteps - 1);
  launch_of(0, {});
  history_.trim(10);
  EXPECT_EQ(history_.size(), LaunchHistory::kMostSteps - 10);
  history_.trim(10);
  for (int i = 0; i < 10; ++i) launch_of(0, {});
  history_.trim(history_.next());
  EXPECT_EQ(history_.size(), LaunchHistory::kMostSteps / 2);
  EXPECT_EQ(history_.next(), LaunchHistory::kMostSteps + 10);
}

TEST_F(LaunchHistoryTest, DropsLaunchesInUseAtTheHardLimit) {
  for (std::size_t i = 0; i < 2 * LaunchHistory::kMostSteps; ++i) launch_of(i, {});
  history_.trim(0);
  EXPECT_LT(history_.size(), 2 * LaunchHistory::kMostSteps);
}

TEST_F(LaunchHistoryTest, DropsTheOlderHalfWhenUsesExceedTheLimit) {
  const std::vector<LaunchLog::Use> many(5000, {.run = &run_at(1)});
  const std::size_t fit = LaunchHistory::kMostUses / many.size();
  for (std::size_t i = 0; i <= fit; ++i) {
    EXPECT_EQ(history_.size(), i);
    history_.remember({.uses = 5000, .watch = std::nullopt}, i, many, many.size(), {});
    history_.trim(0);
  }
  EXPECT_EQ(history_.size(), (fit + 1) / 2);
  history_.remember({.uses = 5000, .watch = std::nullopt}, 0, many, many.size(), {});
  EXPECT_EQ(iteration_of(history_.record(), 1, kAll).uses.size(), many.size());
}

TEST_F(LaunchHistoryTest, MeasuresTheTimeOfTheLastLaunches) {
  DeviceRun& run = run_at(1);
  for (int i = 0; i < 10; ++i) launch(run);  // one per 2000 ns
  EXPECT_EQ(history_.took(4), Nanoseconds(8000));
  EXPECT_EQ(history_.took(10), Nanoseconds(18000)) << "from the first that is known";
}

TEST_F(LaunchHistoryTest, DropsTheOldest) {
  DeviceRun &a = run_at(1), &b = run_at(2);
  launch(a);
  launch(b);
  launch(b);
  history_.drop_oldest(1);
  EXPECT_EQ(history_.size(), 2u);
  EXPECT_EQ(history_.next(), 3u);
  EXPECT_EQ(iteration_of(history_.record(), 2, kAll).runs.size(), 1u);
  history_.drop_oldest(2);
  EXPECT_EQ(history_.size(), 0u);
}

TEST_F(LaunchHistoryTest, AMeasuredLaunchHasItsOwnDuration) {
  for (int i = 0; i < 2; ++i) {
    launch_of(7, Nanoseconds(100));
    launch_of(7, Nanoseconds(300));
  }
  EXPECT_EQ(durations_of(2, 2), (std::vector{Nanoseconds(100), Nanoseconds(300)}));
}

TEST_F(LaunchHistoryTest, AnUnmeasuredLaunchTakesTheDurationOfAnotherIteration) {
  launch_of(7, Nanoseconds(100));
  launch_of(7, Nanoseconds(300));
  for (int i = 0; i < 2; ++i) launch_of(7, Nanoseconds(0));
  EXPECT_EQ(durations_of(2, 2), (std::vector{Nanoseconds(100), Nanoseconds(300)}));
  launch_of(7, Nanoseconds(500));
  EXPECT_EQ(durations_of(2, 2), (std::vector{Nanoseconds(500), Nanoseconds(300)}));
}

TEST_F(LaunchHistoryTest, AnUnmeasuredLaunchTakesTheMeanOfTheSameWork) {
  launch_of(7, Nanoseconds(100));
  launch_of(7, Nanoseconds(300));
  for (int i = 0; i < 2; ++i) launch_of(8, Nanoseconds(50));
  launch_of(7, Nanoseconds(0));
  launch_of(9, Nanoseconds(0));
  EXPECT_EQ(durations_of(4, 2), (std::vector{Nanoseconds(200), Nanoseconds(0)}));
}

TEST_F(LaunchHistoryTest, StopwatchesOfDroppedLaunchesAreReused) {
  for (int i = 0; i < 12; ++i) {
    launch_of(7, Nanoseconds(100));
    EXPECT_EQ(durations_of(static_cast<std::uint64_t>(i), 1).front(), Nanoseconds(100));
  }
  for (int i = 0; i < 4; ++i) launch_of(7, Nanoseconds(100));
  EXPECT_FALSE(watches_.start(stream_).has_value());
  history_.drop_oldest(history_.size());
  EXPECT_TRUE(watches_.start(stream_).has_value());
}

}  // namespace
}  // namespace tessera
