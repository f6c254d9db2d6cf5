#include "residency/iteration/recorded_iteration.hpp"

#include "launch_history_fixture.hpp"

namespace tessera {
namespace {

using RecordedIterationTest = LaunchHistoryTest;

TEST_F(RecordedIterationTest, NumbersStreamsByFirstLaunch) {
  for (const std::uint64_t stream : {70u, 50u, 70u, 60u}) {
    history_.remember({.epoch = ++epoch_, .stream = StreamId(stream)}, stream, {}, 0, Nanoseconds());
  }
  std::vector<std::uint32_t> streams;
  for (const IterationStep& step : iteration_of(history_.record(), 4, kAll).steps) streams.push_back(step.stream);
  EXPECT_EQ(streams, (std::vector<std::uint32_t>{0, 1, 0, 2}));
}

TEST_F(RecordedIterationTest, MergesStreamsBeyondTheLimit) {
  for (std::uint64_t i = 0; i < 2 * kMostStreams; ++i) {
    history_.remember({.epoch = ++epoch_, .stream = StreamId(100 + i)}, i, {}, 0, Nanoseconds());
  }
  for (const IterationStep& step : iteration_of(history_.record(), 2 * kMostStreams, kAll).steps)
    EXPECT_LT(step.stream, kMostStreams);
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
  EXPECT_EQ(same_memory_after(history_.record(), 2), 2U);
  go_round({2, 1});
  EXPECT_EQ(same_memory_after(history_.record(), 2), 2U) << "two blocks change places";
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(same_memory_after(history_.record(), 2), turn == 0 ? 2U : 0U);
    for (std::uint64_t layer = 10; layer < 15; ++layer) go_round({1, layer});
  }
  EXPECT_EQ(same_memory_after(history_.record(), 2), 10U);
  go_round({1, 11});
  EXPECT_EQ(same_memory_after(history_.record(), 2), 0U) << "it was the turn of another";
}

TEST_F(HistoryRoundsTest, ASweepThatTurnsRoundIsNoLoop) {
  for (std::uint64_t place = 1; place < 9; ++place) go_round({place});
  go_round({8});
  EXPECT_EQ(same_memory_after(history_.record(), 2), 2U);
  EXPECT_EQ(same_memory_after(history_.record(), 2, 16), 0U);
  for (int i = 0; i < 8; ++i) go_round({8});
  EXPECT_EQ(same_memory_after(history_.record(), 2, 16), 2U);
}

TEST_F(HistoryRoundsTest, ReallocatedBlocksCountAsTheSameMemory) {
  for (std::uint64_t place = 1; place < 5; ++place) go_round({place}, true);
  EXPECT_EQ(same_memory_after(history_.record(), 2), 2U);
}

TEST_F(RecordedIterationTest, MakesAnIterationOfTheLastLaunches) {
  DeviceRun &a = run_at(1), &b = run_at(2);
  for (int i = 0; i < 2; ++i) {
    launch(a);
    launch(b);
    launch(a);
  }
  const Iteration iteration = iteration_of(history_.record(), 3, kAll);
  EXPECT_EQ(iteration.steps.size(), 3u);
  EXPECT_EQ(iteration.runs.size(), 2u);
  EXPECT_EQ(iteration.uses[0].run, iteration.uses[2].run);
}

// One address for several successive blocks: two runs in each iteration.
TEST_F(RecordedIterationTest, EachBlockAtAnAddressIsItsOwnRun) {
  DeviceRun& a = run_at(1);
  for (int i = 0; i < 4; ++i) {
    launch(a, true, i == 0 ? 0 : number_);
    launch(a);
  }
  const Iteration iteration = iteration_of(history_.record(), 4, kAll);
  ASSERT_EQ(iteration.runs.size(), 2u);
  EXPECT_EQ(iteration.uses[0].run, iteration.uses[1].run);
  EXPECT_NE(iteration.uses[1].run, iteration.uses[2].run);
  EXPECT_EQ(iteration.runs[0].lingers, 0u);
  EXPECT_EQ(iteration.runs[1].lingers, 0u);
}

// Freed two launches after its last use, in the iteration in which its address is reused or in the one before.
TEST_F(RecordedIterationTest, ABlockLingersUntilItsFree) {
  DeviceRun &a = run_at(1), &b = run_at(2);
  std::uint64_t freed_at = 0;
  for (int i = 0; i < 2; ++i) {
    launch(a, true, freed_at);
    launch(b);
    launch(b);
    freed_at = number_;
    launch(b);
  }
  const Iteration iteration = iteration_of(history_.record(), 4, kAll);
  EXPECT_EQ(iteration.runs[iteration.uses[0].run].lingers, 2u);
  EXPECT_EQ(frees_by_step(iteration)[2], (std::vector<std::uint32_t>{iteration.uses[0].run}));
}

// Blocks of another size each time: their runs serve no other block, and are removed when room is needed.
TEST_F(RecordedIterationTest, ABlockLingersUntilItsFreeAlsoWhenItsRunIsRemoved) {
  DeviceRun& b = run_at(100);
  for (std::uint64_t i = 0; i < 3; ++i) {
    DeviceRun& once = run_at(1 + i);
    launch(once, true);
    launch(b);
    launch(b);
    once.freed_at.store(number_);
    launch(b);
    history_.note_freed(once);
  }
  const Iteration iteration = iteration_of(history_.record(), 4, kAll);
  EXPECT_EQ(iteration.runs[iteration.uses[0].run].lingers, 2u);
}

// Another run at the address of a removed one, by which the learner knows both.
TEST_F(RecordedIterationTest, ABlockLingersUntilItsFreeAlsoWhenItsAddressIsMadeAnew) {
  DeviceRun& b = run_at(100);
  for (int i = 0; i < 3; ++i) {
    DeviceRun& made = run_at(1);
    launch(made, true);
    launch(b);
    made.freed_at.store(number_);
    history_.note_freed(made);
    launch(b);
  }
  const Iteration iteration = iteration_of(history_.record(), 3, kAll);
  EXPECT_EQ(iteration.runs[iteration.uses[0].run].lingers, 1u);
}

TEST_F(RecordedIterationTest, AFreeBeforeTheLastUseSaysNothing) {
  DeviceRun &a = run_at(1), &b = run_at(2);
  for (int i = 0; i < 2; ++i) {
    launch(a, true, number_);
    launch(b);
    launch(b);
  }
  a.freed_at.store(3);  // the block before
  history_.note_freed(a);
  const Iteration iteration = iteration_of(history_.record(), 3, kAll);
  EXPECT_EQ(iteration.runs[iteration.uses[0].run].lingers, 2u) << "as in the round before";
}

// After half of a second repetition: a reallocated block has another address by then, and a block made in the first
// half and used in the second is the same.
TEST_F(RecordedIterationTest, MatchesRunsWithThePreviousIterationAsFarAsItRepeated) {
  DeviceRun &a = run_at(1), &elsewhere = run_at(2), &b = run_at(3);
  launch(a, true);
  launch(b);
  launch(a);
  launch(b);
  launch(elsewhere, true);
  launch(b);
  const Iteration known = iteration_of(history_.record(), 4, 2);
  EXPECT_EQ(known.uses[0].run, known.uses[2].run);
  EXPECT_EQ(known.uses[1].run, known.uses[3].run);
  const Iteration unknown = iteration_of(history_.record(), 4, 0);
  EXPECT_NE(unknown.uses[0].run, unknown.uses[2].run);
  EXPECT_EQ(unknown.uses[1].run, unknown.uses[3].run);
}

class SlabsTest : public LaunchHistoryTest {
 protected:
  // A launch that uses one run of one base page; without a run if it is null.
  void launch(DeviceRun* slab, bool fresh = false, std::uint64_t freed_at = 0) {
    const LaunchLog::Use use{.run = slab, .fresh = fresh, .freed_at = freed_at};
    const std::size_t uses = slab == nullptr ? 0 : 1;
    if (slab != nullptr) slab->used.store(epoch_ + 2);
    history_.remember({.epoch = epoch_ += 2, .watch = std::nullopt, .number = ++number_}, 0, {&use, uses}, 0,
                      Nanoseconds());
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
  const SmallRuns small = iteration_of(history_.record(), 3, kAll).small;
  EXPECT_EQ(small.runs.size(), 1u);
  EXPECT_EQ(small.ends, (std::vector<std::uint32_t>{1, 1, 2}));
  EXPECT_EQ(small.uses[0].run, small.uses[1].run);
}

// Its blocks are freed one launch after its last use, and allocated again two later; and once more, at the end of the
// iteration.
TEST_F(SlabsTest, EachReallocationOfASlabIsARun) {
  DeviceRun& slab = slab_at(1);
  std::uint64_t freed_at = 0;
  for (int i = 0; i < 3; ++i) {
    launch(&slab, true, freed_at);
    launch(nullptr);
    freed_at = number_;
    launch(nullptr);
    launch(&slab, true, freed_at);
    freed_at = number_;
  }
  const Iteration iteration = iteration_of(history_.record(), 4, kAll);
  const SmallRuns& small = iteration.small;
  ASSERT_EQ(small.uses.size(), 2u);
  EXPECT_NE(small.uses[0].run, small.uses[1].run);
  EXPECT_EQ(small.runs[small.uses[0].run].lingers, 1u);
  EXPECT_EQ(small.runs[small.uses[1].run].lingers, 0u);
}

TEST_F(SlabsTest, ARemovedSlabLingersUntilItsFree) {
  for (std::uint64_t i = 0; i < 2; ++i) {
    DeviceRun& slab = slab_at(1 + i);
    launch(&slab, true);
    launch(nullptr);
    slab.freed_at.store(number_);
    launch(nullptr);
    history_.note_freed(slab);
  }
  const SmallRuns small = iteration_of(history_.record(), 3, kAll).small;
  ASSERT_EQ(small.runs.size(), 1u);
  EXPECT_EQ(small.runs[0].lingers, 1u);
}

TEST_F(SlabsTest, ASlabCarriedIntoTheNextIterationIsTheSameRun) {
  DeviceRun& slab = slab_at(1);
  std::uint64_t freed_at = 0;
  for (int i = 0; i < 3; ++i) {
    launch(&slab, i == 0);
    launch(nullptr);
    freed_at = number_;
    launch(nullptr);
    launch(&slab, true, freed_at);
  }
  const SmallRuns small = iteration_of(history_.record(), 4, kAll).small;
  ASSERT_EQ(small.uses.size(), 2u);
  EXPECT_EQ(small.uses[0].run, small.uses[1].run);
  EXPECT_TRUE(small.uses[1].fresh);
  EXPECT_EQ(small.runs[small.uses[0].run].lingers, 1u) << "behind its last use, which is the iteration's first";
}

TEST_F(RecordedIterationTest, ABlockIsNotHeldIntoTheNextUseOfItsRole) {
  DeviceRun &a = run_at(1), &other = run_at(2), &b = run_at(3);
  for (int i = 0; i < 6; ++i) {  // two alternating addresses, each freed long after the other appeared
    DeviceRun& mine = i % 2 == 0 ? a : other;
    launch(mine, true, i < 2 ? 0 : number_ - 1);
    launch(b);
  }
  const Iteration iteration = iteration_of(history_.record(), 2, kAll);
  ASSERT_EQ(iteration.runs.size(), 2u);
  for (const IterationRun& run : iteration.runs) EXPECT_LT(run.lingers, 2u);
}

TEST_F(RecordedIterationTest, ReportsTheLastUseOfEachRun) {
  DeviceRun &a = run_at(1), &b = run_at(2);
  launch(a);
  for (int i = 0; i < 2; ++i) {
    launch(a);
    launch(b);
    launch(a);
  }
  const Iteration iteration = iteration_of(history_.record(), 3, kAll);
  const auto last = last_seen(history_.record(), iteration);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[iteration.uses[0].run].run, a.name);
  EXPECT_EQ(last[iteration.uses[0].run].epoch, epoch_);
  EXPECT_EQ(last[iteration.uses[1].run].run, b.name);
  EXPECT_EQ(last[iteration.uses[1].run].epoch + 2, epoch_);
}

}  // namespace
}  // namespace tessera
