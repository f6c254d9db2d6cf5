#include "lab/published/str_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include <fmt/format.h>

#include "iterations.hpp"
#include "planning/forecast.hpp"
#include "policy/capuchin_policy.hpp"
#include "policy/plan_ground.hpp"
#include "policy/policy.hpp"

namespace tessera {
namespace {

Iteration tiny(std::uint64_t seed) {
  test::IterationBuilder build;
  for (std::uint32_t i = 0; i < 5; ++i) {
    build.run(1_MiB * (1 + (seed * (i + 3)) % 7), RunClass::kUnknown, Nanoseconds(i % 2 * 400'000));
  }
  for (std::uint32_t i = 0; i < 5; ++i) build.step(300'000, {test::makes(i)});
  for (std::uint32_t i = 5; i-- > 0;) build.step(500'000, {test::reads(i)});
  return build.done();
}

// The minimum makespan, found by a brute force search over the gaps, independent of the policy.
Nanoseconds brute_force(const Iteration& iteration, const Machine& machine) {
  const PlanGround ground(iteration, machine);
  Nanoseconds least(~std::uint64_t{0});
  OffloadPlan plan = ground.plan;
  const std::function<void(std::size_t)> choose = [&](std::size_t i) {
    if (i == ground.gaps.size()) {
      const Forecast result = forecast(iteration, machine, plan);
      if (result.possible) least = std::min(least, result.makespan);
      return;
    }
    const Gap& gap = ground.gaps[i];
    choose(i + 1);
    std::vector<OffloadInterval> ways{ground.in_time(gap), {.gap = gap, .back_at = gap.until}};
    if (iteration.runs[gap.run].recompute != Nanoseconds()) {
      ways.push_back({.gap = gap, .back_at = gap.until, .to = OffloadTarget::kRecomputed});
    }
    for (const OffloadInterval& way : ways) {
      plan.push_back(way);
      choose(i + 1);
      plan.pop_back();
    }
  };
  choose(0);
  return least;
}

TEST(StrPolicy, EqualsBruteForce) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Iteration iteration = tiny(seed);
    for (const double rate : {2e9, 10e9, 40e9}) {
      const Machine machine = test::machine_of(test::all_bytes(iteration) * 6 / 10, rate);
      const Forecast exact = forecast(iteration, machine, StrPolicy().plan(iteration, machine));
      EXPECT_EQ(exact.makespan, brute_force(iteration, machine)) << seed << " " << rate;
      EXPECT_LE(exact.makespan, forecast(iteration, machine, {}).makespan);
    }
  }
}

// Times of policies' plans relative to the optimum, mean and maximum. Other policies may fetch a run earlier than a
// copy before its use, which is not a choice here: that gains less than a hundredth.
TEST(StrPolicy, NoPolicyBeatsTheOptimum) {
  for (const PolicyEntry& entry : policies()) {
    double sum = 0, most = 0;
    int plans = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const Iteration iteration = tiny(seed);
      for (const double rate : {2e9, 10e9, 40e9}) {
        const Machine machine = test::machine_of(test::all_bytes(iteration) * 6 / 10, rate);
        const auto makespan_of = [&](const Policy& policy) {
          return static_cast<double>(forecast(iteration, machine, policy.plan(iteration, machine)).makespan.value());
        };
        const double over = makespan_of(*make_policy(entry.name).value()) / makespan_of(StrPolicy());
        EXPECT_GE(over, 0.99) << entry.name << " " << seed << " " << rate;
        sum += over;
        most = std::max(most, over);
        ++plans;
      }
    }
    RecordProperty(std::string(entry.name), fmt::format("{:.2f} {:.2f}", sum / plans, most));
  }
}

TEST(StrPolicy, ACleanRunIsEvictedWithoutACopyTheSecondTime) {
  // Made once, read twice later: offloaded in both gaps, copied out only in the first.
  test::IterationBuilder build;
  const auto a = build.run(8_MiB), b = build.run(8_MiB);
  build.step(1'000'000, {test::makes(a)});
  for (int i = 0; i < 2; ++i) {
    build.step(5'000'000, {test::makes(b)});
    build.step(1'000'000, {});
    build.step(1'000'000, {test::reads(a)});
  }
  const Machine machine = test::machine_of(8_MiB, 25e9);
  OffloadPlan plan = StrPolicy().plan(build.done(), machine);
  const Forecast result = forecast(build.done(), machine, plan);
  EXPECT_EQ(result.out, 8_MiB);
  EXPECT_EQ(result.in, 16_MiB);
}

TEST(StrPolicy, PlansAsCapuchinWhereThereAreTooManyCombinations) {
  const Iteration iteration = test::training({.layers = 16});
  const Machine machine = test::machine_of(200_MiB, 25e9);
  EXPECT_EQ(StrPolicy().plan(iteration, machine).size(), CapuchinPolicy().plan(iteration, machine).size());
}

}  // namespace
}  // namespace tessera
