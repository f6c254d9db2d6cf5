#include "planning/farthest_intervals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "iterations.hpp"

namespace tessera {
namespace {

std::set<std::uint32_t> runs_of(const OffloadPlan& plan) {
  std::set<std::uint32_t> runs;
  for (const OffloadInterval& interval : plan) runs.insert(interval.gap.run);
  return runs;
}

TEST(FarthestIntervals, AreNoneWhereAllFits) {
  EXPECT_TRUE(farthest_intervals(test::stack(8, Bytes(100), 100), Bytes(800)).empty());
}

TEST(FarthestIntervals, AreNoneWhereAStepAloneDoesNotFit) {
  EXPECT_TRUE(farthest_intervals(test::stack(8, Bytes(100), 100), Bytes(99)).empty());
}

// In a stack, written in forward and read in reverse order, the bottom is needed last.
TEST(FarthestIntervals, EvictRunsNeededLatest) {
  const OffloadPlan plan = farthest_intervals(test::stack(8, Bytes(100), 100), Bytes(500));
  EXPECT_EQ(runs_of(plan), (std::set<std::uint32_t>{0, 1, 2}));
}

// In whole pages: five runs of 8 MiB and room for four and a half.
TEST(FarthestIntervals, EvictNoMoreThanNeeded) {
  const OffloadPlan plan = farthest_intervals(test::stack(5, 8_MiB, 100), 36_MiB);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].gap.run, 0u);
  EXPECT_EQ(plan[0].part, 4_MiB);
}

// The first two are made in one step and read in the last; one of them is evicted twice, and is changed in between in
// one case.
TEST(FarthestIntervals, PreferRunsWithAValidCopy) {
  for (const bool changes : {false, true}) {
    test::IterationBuilder build;
    for (int i = 0; i < 4; ++i) build.run(8_MiB);
    build.step(100, {test::makes(0), test::makes(1)});
    build.step(100, {test::makes(2), test::reads(1)});
    build.step(100, {changes ? test::writes(0) : test::reads(0), test::reads(1)});
    build.step(100, {test::makes(3)});
    build.step(100, {test::reads(0), test::reads(1)});
    const OffloadPlan plan = farthest_intervals(build.done(), 16_MiB);
    ASSERT_FALSE(plan.empty());
    const auto last = std::ranges::find(plan, 2u, [](const OffloadInterval& interval) { return interval.gap.after; });
    ASSERT_NE(last, plan.end());
    EXPECT_EQ(last->gap.run, changes ? 1u : 0u);
  }
}

// The first run's block is held until the third step is over, so its room is not available before that.
TEST(FarthestIntervals, CountBlocksUntilTheyAreFreed) {
  test::IterationBuilder build;
  for (int i = 0; i < 3; ++i) build.run(Bytes(100));
  for (std::uint32_t i = 0; i < 3; ++i) build.step(100, {test::makes(i)});
  Iteration iteration = build.done();
  EXPECT_TRUE(farthest_intervals(iteration, Bytes(200)).empty());
  iteration.runs[0].lingers = 2;
  EXPECT_TRUE(farthest_intervals(iteration, Bytes(200)).empty());
  iteration.runs[1].lingers = 1;
  EXPECT_EQ(farthest_intervals(iteration, Bytes(200)).size(), 1u);
}

TEST(FarthestIntervals, AreDistinctGapsOfUnpinnedRuns) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Iteration iteration = test::random_iteration(seed);
    const OffloadPlan plan = farthest_intervals(iteration, test::all_bytes(iteration) * (40 + seed % 60) / 100);
    EXPECT_TRUE(test::are_own_gaps(iteration, plan)) << seed;
    for (const OffloadInterval& interval : plan) {
      EXPECT_LE(interval.part, iteration.runs[interval.gap.run].bytes) << seed;
      EXPECT_TRUE(static_cast<bool>(interval.part)) << seed;
    }
  }
}

}  // namespace
}  // namespace tessera
