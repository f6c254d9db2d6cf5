#include "residency/iteration/launch_history.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "base/virtual_clock.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

using DeviceRun = tessera::Run;  // a test has a member Run() of its own

constexpr std::size_t kAll = LaunchHistory::kMostSteps;  // the earlier launches are alike

class LaunchHistoryTest : public ::testing::Test {
 protected:
  ~LaunchHistoryTest() override { EXPECT_TRUE(sim_.destroy_stream(stream_).is_ok()); }

  // A launch that uses one run. Epochs increase by two: a fence between launches takes one.
  void launch(DeviceRun& run, bool fresh = false, Epoch freed = {}) {
    const LaunchLog::Use use{.run = &run, .writes = fresh, .fresh = fresh, .freed = freed};
    epoch_ += 2;
    history_.remember({.epoch = epoch_, .uses = 1, .watch = std::nullopt}, 0, {&use, 1}, 1,
                      Nanoseconds(1000 * epoch_.value()));
  }
  // A launch with this signature, without runs, that takes `time`; untimed if `time` is 0.
  void launch_of(std::uint64_t signature, Nanoseconds time) {
    LaunchLog::Launch launch{.epoch = epoch_ += 2, .watch = std::nullopt};
    if (time) launch.watch = watches_.start(stream_);
    EXPECT_TRUE(sim_.occupy(stream_, time, {}).is_ok());
    if (launch.watch) watches_.stop(*launch.watch, stream_);
    history_.remember(launch, signature, {}, 0, Nanoseconds(1000 * epoch_.value()));
  }
  // Work ahead of the next launch, on that launch's stream.
  void work_beside(Nanoseconds time) {
    const auto watch = watches_.start(stream_);
    EXPECT_TRUE(sim_.occupy(stream_, time, {}).is_ok());
    watches_.stop(*watch, stream_);
    history_.remember_other({.watch = *watch, .stream = StreamId()});
    EXPECT_TRUE(sim_.synchronize(stream_).is_ok());
    history_.read_watches();
  }
  std::vector<Nanoseconds> durations_of(std::uint64_t first, std::size_t period) {
    EXPECT_TRUE(sim_.synchronize(stream_).is_ok());
    history_.read_watches();
    return history_.durations(first, period);
  }
  // The epoch recorded by a free at this point: before the next launch.
  Epoch now() const { return epoch_.next(); }
  DeviceRun& run_at(std::uint64_t place) {
    runs_.emplace_back(Address(place << 26), RunShape{0, 2}, TagId());
    return runs_.back();
  }

  VirtualClock clock_;
  SimDriver sim_{{.memory = 64_MiB, .contents = SimContents::kNone}, clock_};
  const StreamId stream_ = sim_.create_stream(DeviceId(0)).take();
  Stopwatches watches_{sim_, DeviceId(0), 4};
  LaunchHistory history_{watches_};
  std::deque<DeviceRun> runs_;
  Epoch epoch_;
};

TEST_F(LaunchHistoryTest, NumbersStreamsByFirstLaunch) {
  for (const std::uint64_t stream : {70u, 50u, 70u, 60u}) {
    history_.remember({.epoch = ++epoch_, .stream = StreamId(stream)}, stream, {}, 0, Nanoseconds());
  }
  std::vector<std::uint32_t> streams;
  for (const IterationStep& step : history_.iteration(4, kAll).steps) streams.push_back(step.stream);
  EXPECT_EQ(streams, (std::vector<std::uint32_t>{0, 1, 0, 2}));
}

TEST_F(LaunchHistoryTest, MergesStreamsBeyondTheLimit) {
  for (std::uint64_t i = 0; i < 2 * kMostStreams; ++i) {
    history_.remember({.epoch = ++epoch_, .stream = StreamId(100 + i)}, i, {}, 0, Nanoseconds());
  }
  for (const IterationStep& step : history_.iteration(2 * kMostStreams, kAll).steps)
    EXPECT_LT(step.stream, kMostStreams);
}

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

// Rounds of two identical launches, each of which uses the blocks at these places.
class HistoryRoundsTest : public LaunchHistoryTest {
 protected:
  void go_round(std::initializer_list<std::uint64_t> places, bool fresh = false) {
    for (const std::uint64_t signature : {1u, 2u}) {
      std::vector<LaunchLog::Use> uses;
      for (const std::uint64_t place : places) uses.push_back({.run = &run_at(place), .fresh = fresh});
      history_.remember({.epoch = ++epoch_}, signature, uses, uses.size(), Nanoseconds());
    }
  }
};

TEST_F(HistoryRoundsTest, MemoryRepeatsAtOnceOrAfterSeveralRounds) {
  for (int i = 0; i < 2; ++i) go_round({1, 2});
  EXPECT_EQ(history_.same_memory_after(2), 2U);
  go_round({2, 1});
  EXPECT_EQ(history_.same_memory_after(2), 2U) << "two blocks change places";
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(history_.same_memory_after(2), turn == 0 ? 2U : 0U);
    for (std::uint64_t layer = 10; layer < 15; ++layer) go_round({1, layer});
  }
  EXPECT_EQ(history_.same_memory_after(2), 10U);
  go_round({1, 11});
  EXPECT_EQ(history_.same_memory_after(2), 0U) << "it was the turn of another";
}

TEST_F(HistoryRoundsTest, ASweepThatTurnsRoundIsNoLoop) {
  for (std::uint64_t place = 1; place < 9; ++place) go_round({place});
  go_round({8});
  EXPECT_EQ(history_.same_memory_after(2), 2U);
  EXPECT_EQ(history_.same_memory_after(2, 16), 0U);
  for (int i = 0; i < 8; ++i) go_round({8});
  EXPECT_EQ(history_.same_memory_after(2, 16), 2U);
}

TEST_F(HistoryRoundsTest, ReallocatedBlocksCountAsTheSameMemory) {
  for (std::uint64_t place = 1; place < 5; ++place) go_round({place}, true);
  EXPECT_EQ(history_.same_memory_after(2), 2U);
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
  const std::size_t fit = LaunchHistory::kMostMentions / many.size();
  for (std::size_t i = 0; i <= fit; ++i) {
    EXPECT_EQ(history_.size(), i);
    history_.remember({.uses = 5000, .watch = std::nullopt}, i, many, many.size(), {});
    history_.trim(0);
  }
  EXPECT_EQ(history_.size(), (fit + 1) / 2);
  history_.remember({.uses = 5000, .watch = std::nullopt}, 0, many, many.size(), {});
  EXPECT_EQ(history_.iteration(1, kAll).uses.size(), many.size());
}

TEST_F(LaunchHistoryTest, MeasuresTheTimeOfTheLastLaunches) {
  DeviceRun& run = run_at(1);
  for (int i = 0; i < 10; ++i) launch(run);  // one per 2000 ns
  EXPECT_EQ(history_.took(4), Nanoseconds(8000));
  EXPECT_EQ(history_.took(10), Nanoseconds(18000)) << "from the first that is known";
}

TEST_F(LaunchHistoryTest, MakesAnIterationOfTheLastLaunches) {
  DeviceRun &a = run_at(1), &b = run_at(2);
  for (int i = 0; i < 2; ++i) {
    launch(a);
    launch(b);
    launch(a);
  }
  const Iteration iteration = history_.iteration(3, kAll);
  EXPECT_EQ(iteration.steps.size(), 3u);
  EXPECT_EQ(iteration.runs.size(), 2u);
  EXPECT_EQ(iteration.uses[0].run, iteration.uses[2].run);
}

// One address for several successive blocks: two runs in each iteration.
TEST_F(LaunchHistoryTest, EachBlockAtAnAddressIsItsOwnRun) {
  DeviceRun& a = run_at(1);
  for (int i = 0; i < 4; ++i) {
    launch(a, true, i == 0 ? Epoch() : now());
    launch(a);
  }
  const Iteration iteration = history_.iteration(4, kAll);
  ASSERT_EQ(iteration.runs.size(), 2u);
  EXPECT_EQ(iteration.uses[0].run, iteration.uses[1].run);
  EXPECT_NE(iteration.uses[1].run, iteration.uses[2].run);
  EXPECT_EQ(iteration.runs[0].lingers, 0u);
  EXPECT_EQ(iteration.runs[1].lingers, 0u);
}

// Freed two launches after its last use, in the iteration in which its address is reused or in the one before.
TEST_F(LaunchHistoryTest, ABlockLingersUntilItsFree) {
  DeviceRun &a = run_at(1), &b = run_at(2);
  Epoch freed;
  for (int i = 0; i < 2; ++i) {
    launch(a, true, freed);
    launch(b);
    launch(b);
    freed = now();
    launch(b);
  }
  const Iteration iteration = history_.iteration(4, kAll);
  EXPECT_EQ(iteration.runs[iteration.uses[0].run].lingers, 2u);
  EXPECT_EQ(frees_by_step(iteration)[2], (std::vector<std::uint32_t>{iteration.uses[0].run}));
}

// After half of a second repetition: a reallocated block has another address by then, and a block made in the first
// half and used in the second is the same.
TEST_F(LaunchHistoryTest, MatchesRunsWithThePreviousIterationAsFarAsItRepeated) {
  DeviceRun &a = run_at(1), &elsewhere = run_at(2), &b = run_at(3);
  launch(a, true);
  launch(b);
  launch(a);
  launch(b);
  launch(elsewhere, true);
  launch(b);
  const Iteration known = history_.iteration(4, 2);
  EXPECT_EQ(known.uses[0].run, known.uses[2].run);
  EXPECT_EQ(known.uses[1].run, known.uses[3].run);
  const Iteration unknown = history_.iteration(4, 0);
  EXPECT_NE(unknown.uses[0].run, unknown.uses[2].run);
  EXPECT_EQ(unknown.uses[1].run, unknown.uses[3].run);
}

class SlabsTest : public LaunchHistoryTest {
 protected:
  // A launch that uses one run of one base page; without a run if it is null.
  void launch(DeviceRun* slab, bool fresh = false, Epoch freed = {}) {
    const LaunchLog::Use use{.run = slab, .fresh = fresh, .freed = freed};
    const std::size_t uses = slab == nullptr ? 0 : 1;
    history_.remember({.epoch = epoch_ += 2, .watch = std::nullopt}, 0, {&use, uses}, 0, Nanoseconds());
  }
  DeviceRun& slab_at(std::uint64_t place) {
    runs_.emplace_back(Address(place << 26), RunShape{0, 1}, TagId());
    return runs_.back();
  }
};

TEST_F(SlabsTest, ASlabNeverReallocatedIsOneRun) {
  DeviceRun& slab = slab_at(1);
  for (int i = 0; i < 2; ++i) {
    launch(&slab);
    launch(nullptr);
    launch(&slab);
  }
  const SmallRuns small = history_.iteration(3, kAll).small;
  EXPECT_EQ(small.runs.size(), 1u);
  EXPECT_EQ(small.ends, (std::vector<std::uint32_t>{1, 1, 2}));
  EXPECT_EQ(small.uses[0].run, small.uses[1].run);
}

// Its blocks are freed one launch after its last use, and allocated again two later; and once more, at the end of the
// iteration.
TEST_F(SlabsTest, EachReallocationOfASlabIsARun) {
  DeviceRun& slab = slab_at(1);
  Epoch freed;
  for (int i = 0; i < 3; ++i) {
    launch(&slab, true, freed);
    launch(nullptr);
    freed = now();
    launch(nullptr);
    launch(&slab, true, freed);
    freed = now();
  }
  const Iteration iteration = history_.iteration(4, kAll);
  const SmallRuns& small = iteration.small;
  ASSERT_EQ(small.uses.size(), 2u);
  EXPECT_NE(small.uses[0].run, small.uses[1].run);
  EXPECT_EQ(small.runs[small.uses[0].run].lingers, 1u);
  EXPECT_EQ(small.runs[small.uses[1].run].lingers, 0u);
}

TEST_F(SlabsTest, ASlabCarriedIntoTheNextIterationIsTheSameRun) {
  DeviceRun& slab = slab_at(1);
  Epoch freed;
  for (int i = 0; i < 3; ++i) {
    launch(&slab, i == 0);
    launch(nullptr);
    freed = now();
    launch(nullptr);
    launch(&slab, true, freed);
  }
  const SmallRuns small = history_.iteration(4, kAll).small;
  ASSERT_EQ(small.uses.size(), 2u);
  EXPECT_EQ(small.uses[0].run, small.uses[1].run);
  EXPECT_TRUE(small.uses[1].fresh);
  EXPECT_EQ(small.runs[small.uses[0].run].lingers, 1u) << "behind its last use, which is the iteration's first";
}

TEST_F(LaunchHistoryTest, ABlockIsNotHeldIntoTheNextUseOfItsRole) {
  DeviceRun &a = run_at(1), &other = run_at(2), &b = run_at(3);
  for (int i = 0; i < 6; ++i) {  // two alternating addresses, each freed long after the other appeared
    DeviceRun& mine = i % 2 == 0 ? a : other;
    launch(mine, true, i < 2 ? Epoch() : epoch_.previous());
    launch(b);
  }
  const Iteration iteration = history_.iteration(2, kAll);
  ASSERT_EQ(iteration.runs.size(), 2u);
  for (const IterationRun& run : iteration.runs) EXPECT_LT(run.lingers, 2u);
}

TEST_F(LaunchHistoryTest, DropsTheOldest) {
  DeviceRun &a = run_at(1), &b = run_at(2);
  launch(a);
  launch(b);
  launch(b);
  history_.drop_oldest(1);
  EXPECT_EQ(history_.size(), 2u);
  EXPECT_EQ(history_.next(), 3u);
  EXPECT_EQ(history_.iteration(2, kAll).runs.size(), 1u);
  history_.drop_oldest(2);
  EXPECT_EQ(history_.size(), 0u);
}

TEST_F(LaunchHistoryTest, ReportsTheLastUseOfEachRun) {
  DeviceRun &a = run_at(1), &b = run_at(2);
  launch(a);
  for (int i = 0; i < 2; ++i) {
    launch(a);
    launch(b);
    launch(a);
  }
  const Iteration iteration = history_.iteration(3, kAll);
  const auto last = history_.last_seen(iteration);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[iteration.uses[0].run].run, a.name);
  EXPECT_EQ(last[iteration.uses[0].run].epoch, epoch_);
  EXPECT_EQ(last[iteration.uses[1].run].run, b.name);
  EXPECT_EQ(last[iteration.uses[1].run].epoch + 2, epoch_);
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
