#include "learn/lookahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "iterations.hpp"
#include "learn/forecast.hpp"

namespace tessera {
namespace {

using test::kRate;

TEST(LookAhead, SendsNobodyAwayWhereAllFits) {
  const Iteration iteration = test::stack(8, Bytes(100), 100);
  EXPECT_TRUE(look_ahead(iteration, test::machine_of(Bytes(800), kRate), Nanoseconds(1600)).empty());
}

TEST(LookAhead, PlansNothingWhereAStepAloneDoesNotFit) {
  const Iteration iteration = test::stack(8, Bytes(100), 100);
  EXPECT_TRUE(look_ahead(iteration, test::machine_of(Bytes(99), kRate), Nanoseconds(1600)).empty());
}

TEST(LookAhead, HidesAllAtHalfTheMemoryWhereTheLinksAreFastEnough) {
  const Iteration iteration = test::stack(8, Bytes(100), 100);
  const Machine half = test::machine_of(Bytes(400), 2 * kRate);
  const AbsencePlan plan = look_ahead(iteration, half, Nanoseconds(100));
  EXPECT_FALSE(plan.empty());
  EXPECT_EQ(forecast(iteration, half, plan).stall, Nanoseconds());
  EXPECT_GT(forecast(iteration, half, {}).stall, Nanoseconds());
}

TEST(LookAhead, FetchesNothingEarlierThanItsLead) {
  // Read in the first step and in the last: it has no place in between.
  test::IterationBuilder build;
  build.run(Bytes(100));
  for (std::uint32_t i = 1; i < 9; ++i) build.run(Bytes(100));
  build.step(100, {test::writes(0)});
  for (std::uint32_t i = 1; i < 9; ++i) build.step(100, {test::makes(i)});
  build.step(100, {test::writes(0)});
  const AbsencePlan plan =
      look_ahead(build.done(), test::machine_of(Bytes(150), kRate), Nanoseconds(0));
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].gap.after, 0u);
  EXPECT_EQ(plan[0].gap.until, 9u);
  EXPECT_GE(plan[0].back_at, 8u);
}

TEST(LookAhead, UsesEachGapOnceAndNoneOfPinnedRuns) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Iteration iteration = test::random_iteration(seed);
    const Machine machine =
        test::machine_of(test::all_bytes(iteration) * (40 + seed % 60) / 100, 1e9);
    const std::vector<Gap> gaps = find_gaps(iteration);
    std::set<std::pair<std::uint32_t, std::uint32_t>> taken;
    for (const Absence& absence : look_ahead(iteration, machine, Nanoseconds(seed * 10'000))) {
      const Gap& own = absence.gap;
      EXPECT_FALSE(iteration.runs[own.run].pinned) << seed;
      EXPECT_TRUE(taken.insert({own.run, own.after}).second) << seed;
      EXPECT_TRUE(std::any_of(gaps.begin(), gaps.end(), [&own](const Gap& gap) {
        return gap.run == own.run && gap.after == own.after && gap.until == own.until &&
               gap.wraps == own.wraps && !gap.dead;
      })) << seed;
    }
  }
}

}  // namespace
}  // namespace tessera
