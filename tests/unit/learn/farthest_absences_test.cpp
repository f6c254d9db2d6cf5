#include "learn/farthest_absences.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "iterations.hpp"

namespace tessera {
namespace {

std::set<std::uint32_t> runs_of(const AbsencePlan& plan) {
  std::set<std::uint32_t> runs;
  for (const Absence& absence : plan) runs.insert(absence.gap.run);
  return runs;
}

TEST(FarthestAbsences, AreNoneWhereAllFits) {
  EXPECT_TRUE(farthest_absences(test::stack(8, Bytes(100), 100), Bytes(800)).empty());
}

TEST(FarthestAbsences, AreNoneWhereAStepAloneDoesNotFit) {
  EXPECT_TRUE(farthest_absences(test::stack(8, Bytes(100), 100), Bytes(99)).empty());
}

// In a stack, written in forward and read in reverse order, the bottom is needed last.
TEST(FarthestAbsences, AreThoseOfWhoIsNeededLast) {
  const AbsencePlan plan = farthest_absences(test::stack(8, Bytes(100), 100), Bytes(500));
  EXPECT_EQ(runs_of(plan), (std::set<std::uint32_t>{0, 1, 2}));
}

// In whole pages: five runs of 8 MiB and room for four and a half.
TEST(FarthestAbsences, AreOfNoMoreThanIsWanted) {
  const AbsencePlan plan = farthest_absences(test::stack(5, 8_MiB, 100), 36_MiB);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].gap.run, 0u);
  EXPECT_EQ(plan[0].part, 4_MiB);
}

// The first two are made in one step and read in the last; one of them is evicted twice, and is changed in between in
// one case.
TEST(FarthestAbsences, AreOfWhomThereIsACopy) {
  for (const bool changes : {false, true}) {
    test::IterationBuilder build;
    for (int i = 0; i < 4; ++i) build.run(8_MiB);
    build.step(100, {test::makes(0), test::makes(1)});
    build.step(100, {test::makes(2), test::reads(1)});
    build.step(100, {changes ? test::writes(0) : test::reads(0), test::reads(1)});
    build.step(100, {test::makes(3)});
    build.step(100, {test::reads(0), test::reads(1)});
    const AbsencePlan plan = farthest_absences(build.done(), 16_MiB);
    ASSERT_FALSE(plan.empty());
    const auto last = std::ranges::find(plan, 2u, [](const Absence& absence) { return absence.gap.after; });
    ASSERT_NE(last, plan.end());
    EXPECT_EQ(last->gap.run, changes ? 1u : 0u);
  }
}

// The first run's block is held until the third step is over, so its room is not available before that.
TEST(FarthestAbsences, CountBlocksUntilTheyAreFreed) {
  test::IterationBuilder build;
  for (int i = 0; i < 3; ++i) build.run(Bytes(100));
  for (std::uint32_t i = 0; i < 3; ++i) build.step(100, {test::makes(i)});
  Iteration iteration = build.done();
  EXPECT_TRUE(farthest_absences(iteration, Bytes(200)).empty());
  iteration.runs[0].lingers = 2;
  EXPECT_TRUE(farthest_absences(iteration, Bytes(200)).empty());
  iteration.runs[1].lingers = 1;
  EXPECT_EQ(farthest_absences(iteration, Bytes(200)).size(), 1u);
}

TEST(FarthestAbsences, AreOfTheIterationEachOnceAndNoneOfPinnedRuns) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Iteration iteration = test::random_iteration(seed);
    const AbsencePlan plan = farthest_absences(iteration, test::all_bytes(iteration) * (40 + seed % 60) / 100);
    EXPECT_TRUE(test::are_own_gaps(iteration, plan)) << seed;
    for (const Absence& absence : plan) {
      EXPECT_LE(absence.part, iteration.runs[absence.gap.run].bytes) << seed;
      EXPECT_TRUE(static_cast<bool>(absence.part)) << seed;
    }
  }
}

}  // namespace
}  // namespace tessera
