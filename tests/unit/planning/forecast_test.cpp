#include "planning/forecast.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"

namespace tessera {
namespace {

using test::kRate;

TEST(Forecast, TakesTheTimeOfTheStepsWhereAllFits) {
  const Iteration iteration = test::stack(4, Bytes(100), 100);
  const Forecast result = forecast(iteration, test::machine_of(Bytes(400), kRate), {});
  EXPECT_TRUE(result.possible);
  EXPECT_EQ(result.makespan, Nanoseconds(800));
  EXPECT_EQ(result.stall, Nanoseconds());
  EXPECT_EQ(result.peak, Bytes(400));
  EXPECT_EQ(result.out + result.in, Bytes());
}

TEST(Forecast, IsImpossibleWhenAStepDoesNotFit) {
  const Iteration iteration = test::stack(4, Bytes(100), 100);
  EXPECT_FALSE(forecast(iteration, test::machine_of(Bytes(99), kRate), {}).possible);
}

TEST(Forecast, StallsForWhatIsFetchedOnDemand) {
  const Iteration iteration = test::stack(4, Bytes(100), 100);
  const Forecast result = forecast(iteration, test::machine_of(Bytes(200), kRate), {});
  EXPECT_TRUE(result.possible);
  EXPECT_GT(result.stall, Nanoseconds());
  EXPECT_LE(result.peak, Bytes(200));
}

TEST(Forecast, HidesAnIntervalInALongEnoughGap) {
  const Iteration iteration = test::stack(4, Bytes(100), 100);
  OffloadPlan plan;
  for (const Gap& gap : find_gaps(iteration)) {
    // Layer 0 is off the device from the end of step 0 to step 7: copied out in step 1, fetched during step 6.
    if (gap.run == 0 && !gap.dead) plan.push_back({.gap = gap, .back_at = 6});
    if (gap.dead) plan.push_back({.gap = gap, .back_at = gap.until});
  }
  const Forecast result = forecast(iteration, test::machine_of(Bytes(300), kRate), plan);
  EXPECT_EQ(result.makespan, Nanoseconds(800));
  EXPECT_EQ(result.out, Bytes(100));
  EXPECT_EQ(result.in, Bytes(100));
  EXPECT_EQ(result.late, 0u);
  EXPECT_EQ(result.peak, Bytes(300));
}

TEST(Forecast, HidesCopiesBehindOtherWork) {
  // As one block is used, the other cannot be there.
  test::IterationBuilder build;
  const auto a = build.run(Bytes(1000)), b = build.run(Bytes(1000));
  build.step(100, {test::writes(a)});
  build.step(100, {test::makes(b)});
  Iteration iteration = build.done();
  const OffloadPlan plan{{.gap = {.run = a, .after = 0, .until = 0, .wraps = true}, .back_at = 0}};
  const Machine machine = test::machine_of(Bytes(1000), test::kRate);
  EXPECT_EQ(forecast(iteration, machine, plan).makespan, Nanoseconds(2200));
  iteration.steps[1].before = Nanoseconds(1000);  // the copy out runs meanwhile
  EXPECT_EQ(forecast(iteration, machine, plan).makespan, Nanoseconds(2200));
}

TEST(Forecast, CountsTheWaitForATriggerThatIsTooLate) {
  const Iteration iteration = test::stack(2, Bytes(100), 100);
  OffloadPlan plan;
  for (const Gap& gap : find_gaps(iteration)) {
    if (gap.run == 0 && !gap.dead) plan.push_back({.gap = gap, .back_at = gap.until});
  }
  const Forecast result = forecast(iteration, test::machine_of(Bytes(200), kRate), plan);
  // Copied out while step 1 runs, fetched on demand: step 3 waits for the whole copy.
  EXPECT_EQ(result.stall, Nanoseconds(100));
  EXPECT_EQ(result.late, 1u);
}

TEST(Forecast, AReadOnlyRunIsEvictedWithoutACopyAndFetchedByOne) {
  Iteration iteration;  // a weight, used at both ends of an iteration
  iteration.runs = {{.bytes = Bytes(100)}};
  iteration.uses = {{.run = 0}};
  iteration.steps = {{.duration = Nanoseconds(100), .first_use = 0, .end_use = 1},
                     {.duration = Nanoseconds(1000), .first_use = 1, .end_use = 1}};
  const std::vector<Gap> gaps = find_gaps(iteration);
  const Forecast result = forecast(iteration, test::machine_of(Bytes(100), kRate), {{.gap = gaps[0], .back_at = 1}});
  EXPECT_EQ(result.out, Bytes());
  EXPECT_EQ(result.in, Bytes(100));
}

TEST(Forecast, CopiesOutNoRunReallocatedBeforeItsNextRead) {
  test::IterationBuilder build;  // each step has its own buffer, and two of them fit
  for (std::uint32_t i = 0; i < 6; ++i) {
    build.run(Bytes(100));
    build.step(100, {test::makes(i)});
  }
  const Forecast result = forecast(build.done(), test::machine_of(Bytes(200), kRate), {});
  EXPECT_EQ(result.out + result.in, Bytes());
  EXPECT_EQ(result.makespan, Nanoseconds(600));
}

TEST(Forecast, RecomputesWhatIsRecomputedWithoutTheLinks) {
  Iteration iteration = test::stack(2, Bytes(100), 100);
  iteration.runs[0].recompute = Nanoseconds(30);
  OffloadPlan plan;
  for (const Gap& gap : find_gaps(iteration)) {
    if (gap.run == 0 && !gap.dead) {
      plan.push_back({.gap = gap, .back_at = gap.until, .to = Location::kNowhere});
    }
  }
  const Forecast result = forecast(iteration, test::machine_of(Bytes(200), kRate), plan);
  EXPECT_EQ(result.out + result.in, Bytes());
  EXPECT_EQ(result.stall, Nanoseconds(30));
}

TEST(Forecast, EvictedRunsAreNotInThePeak) {
  const Iteration iteration = test::stack(4, Bytes(100), 100);
  OffloadPlan plan;
  for (const Gap& gap : find_gaps(iteration)) {
    if (gap.dead || gap.run == 0) plan.push_back({.gap = gap, .back_at = gap.dead ? gap.until : 6});
  }
  EXPECT_EQ(forecast(iteration, test::machine_of(Bytes(4000), kRate), plan).peak, Bytes(300));
}

TEST(Forecast, KeepsTheRestOfAPartlyEvictedRun) {
  const Iteration iteration = test::stack(4, Bytes(100), 100);
  OffloadPlan plan;
  for (const Gap& gap : find_gaps(iteration)) {
    if (gap.dead) plan.push_back({.gap = gap, .back_at = gap.until});
    if (gap.run == 0 && !gap.dead) plan.push_back({.gap = gap, .back_at = 6, .part = Bytes(40)});
  }
  const Forecast result = forecast(iteration, test::machine_of(Bytes(4000), kRate), plan);
  EXPECT_EQ(result.peak, Bytes(360));
  EXPECT_EQ(result.out, Bytes(40));
  EXPECT_EQ(result.in, Bytes(40));
  EXPECT_EQ(forecast(iteration, test::machine_of(Bytes(360), kRate), plan).stall, Nanoseconds());
  EXPECT_GT(forecast(iteration, test::machine_of(Bytes(359), kRate), plan).stall, Nanoseconds());
}

// Taken from the run that is partly offloaded already, as it is needed last.
TEST(Forecast, EvictsTheRestOnDemandAndCopiesOnlyThat) {
  const Iteration iteration = test::stack(4, Bytes(100), 100);
  OffloadPlan plan;
  for (const Gap& gap : find_gaps(iteration)) {
    if (gap.dead) plan.push_back({.gap = gap, .back_at = gap.until});
    if (gap.run == 0 && !gap.dead) plan.push_back({.gap = gap, .back_at = gap.until, .part = Bytes(40)});
  }
  const Forecast result = forecast(iteration, test::machine_of(Bytes(300), kRate), plan);
  EXPECT_EQ(result.out, Bytes(100));
  EXPECT_EQ(result.in, Bytes(100));
}

TEST(Forecast, APeersLinksDoNotWaitForTheHosts) {
  const Iteration iteration = test::stack(4, Bytes(100), 100);
  Machine two = test::machine_of(Bytes(200), kRate);
  two.peer = Bytes(1000);
  two.peer_rate = 10 * kRate;
  const auto stall_to = [&](Location to) {
    OffloadPlan plan;
    for (const Gap& gap : find_gaps(iteration)) {
      if (gap.dead) plan.push_back({.gap = gap, .back_at = gap.until});
      if (!gap.dead && gap.run < 2) plan.push_back({.gap = gap, .back_at = 5, .to = to});
    }
    return forecast(iteration, two, plan).stall;
  };
  EXPECT_LT(stall_to(Location::kPeer), stall_to(Location::kHost));
}

TEST(Forecast, IsBetterWhenPossibleThenSoonerThenMovingLess) {
  const Forecast slow{.makespan = Nanoseconds(9)}, fast{.makespan = Nanoseconds(8), .out = Bytes(2)};
  const Forecast busy{.makespan = Nanoseconds(8), .out = Bytes(1), .in = Bytes(3)};
  const Forecast never{.makespan = Nanoseconds(1), .possible = false};
  EXPECT_TRUE(is_better(slow, never));
  EXPECT_TRUE(is_better(fast, slow));
  EXPECT_TRUE(is_better(fast, busy));
  EXPECT_FALSE(is_better(fast, fast));
}

}  // namespace
}  // namespace tessera
