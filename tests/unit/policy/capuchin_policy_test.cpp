#include "policy/capuchin_policy.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "iterations.hpp"
#include "planning/forecast.hpp"
#include "planning/gap_time.hpp"

namespace tessera {
namespace {

TEST(CapuchinPolicy, ChoicesWithFreeTimeStallNothing) {
  const Iteration iteration = test::training();
  const Machine machine = test::machine_of(160_MiB, 25e9);
  const OffloadPlan plan = CapuchinPolicy().plan(iteration, machine);
  const GapTime time(iteration, machine);
  ASSERT_FALSE(test::moves_of(plan).empty());
  for (const OffloadInterval& interval : test::moves_of(plan)) EXPECT_GE(time.free_time(interval.gap), 0);
  const Forecast result = forecast(iteration, machine, plan);
  EXPECT_EQ(result.stall, Nanoseconds());
  EXPECT_LE(result.peak, machine.device);
}

TEST(CapuchinPolicy, TakesTheLongestFreeTimeFirstAndNoMoreThanNeeded) {
  const Iteration iteration = test::stack(6, 8_MiB, 1'000'000);
  const OffloadPlan one = test::moves_of(CapuchinPolicy().plan(iteration, test::machine_of(40_MiB, 25e9)));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].gap.run, 0u);
  EXPECT_TRUE(test::moves_of(CapuchinPolicy().plan(iteration, test::machine_of(48_MiB, 25e9))).empty());
}

TEST(CapuchinPolicy, FeedbackRemovesLateArrivals) {
  // Two runs are needed in one step: each trigger alone would suffice, together the second is late.
  test::IterationBuilder build;
  const auto a = build.run(10_MiB), b = build.run(10_MiB), c = build.run(20_MiB);
  build.step(100'000, {test::makes(a), test::makes(b)});
  for (int i = 0; i < 6; ++i) build.step(500'000, {});
  build.step(500'000, {test::makes(c)});
  for (int i = 0; i < 40; ++i) build.step(50'000, {});
  build.step(100'000, {test::reads(a), test::reads(b)});
  const Machine machine = test::machine_of(20_MiB, 21e9);
  const Forecast first = forecast(build.done(), machine, CapuchinPolicy::plan_with_lead(build.done(), machine, 1));
  const Forecast fed = forecast(build.done(), machine, CapuchinPolicy().plan(build.done(), machine));
  EXPECT_GT(first.late, 0u);
  EXPECT_EQ(fed.late, 0u);
  EXPECT_LT(fed.makespan, first.makespan);
}

// The step that starts each fetch.
std::vector<std::uint32_t> triggers_of(const OffloadPlan& plan) {
  std::vector<std::uint32_t> steps;
  for (const OffloadInterval& interval : test::moves_of(plan)) steps.push_back(interval.back_at);
  return steps;
}

TEST(CapuchinPolicy, ReportsTheForecastAndEachRound) {
  const Iteration iteration = test::training();
  const Machine machine = test::machine_of(120_MiB, 10e9);
  std::vector<std::vector<std::uint32_t>> emitted;
  const auto emit = [&emitted](const Strategy& strategy) {
    emitted.push_back(triggers_of(strategy.plan));
    return true;
  };
  const auto with_lead = [&](double lead) {
    return triggers_of(CapuchinPolicy::plan_with_lead(iteration, machine, lead));
  };
  CapuchinPolicy().strategies(iteration, machine, emit);
  ASSERT_EQ(emitted.size(), 22u);
  EXPECT_EQ(emitted.front(), triggers_of(CapuchinPolicy().plan(iteration, machine)));
  EXPECT_EQ(emitted[1], with_lead(1));
  EXPECT_EQ(emitted.back(), with_lead(2));
  EXPECT_NE(emitted[1], emitted.back());
  emitted.clear();
  CapuchinPolicy(1.3).strategies(iteration, machine, emit);
  ASSERT_EQ(emitted.size(), 1u);
  EXPECT_EQ(emitted.front(), with_lead(1.3)) << "which is given";
}

TEST(CapuchinPolicy, RecomputesUnhiddenRunsWhenCheaper) {
  test::TrainingShape shape;
  shape.recompute = Nanoseconds(1000);
  const Iteration iteration = test::training(shape);
  const Machine slow = test::machine_of(80_MiB, 0.1e9);
  bool recomputed = false;
  for (const OffloadInterval& interval : CapuchinPolicy().plan(iteration, slow))
    recomputed |= interval.to == Location::kNowhere;
  EXPECT_TRUE(recomputed);
}

}  // namespace
}  // namespace tessera
