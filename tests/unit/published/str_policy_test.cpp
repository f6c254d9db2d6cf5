#include "lab/published/str_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "iterations.hpp"
#include "planning/forecast.hpp"
#include "policy/capuchin_policy.hpp"
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

// The minimum makespan over all ways to be away, found without the policy's helpers: every run's gap between two uses
// is kept, offloaded with the fetch at any step inside or on demand, or recomputed; and fetches that begin at the same
// step are tried in every order.
Nanoseconds brute_force(const Iteration& iteration, const Machine& machine) {
  const auto count = static_cast<std::uint32_t>(iteration.steps.size());
  OffloadPlan dead;
  std::vector<Gap> gaps;
  for (const Gap& gap : find_gaps(iteration)) {
    if (gap.dead) {
      dead.push_back({.gap = gap, .back_at = gap.until});
    } else {
      gaps.push_back(gap);
    }
  }
  Nanoseconds least(~std::uint64_t{0});
  OffloadPlan plan = dead;
  std::vector<bool> chosen(gaps.size());
  // What was chosen so far, and whatever may follow it: every order of every choice is tried once.
  const std::function<void()> choose = [&] {
    const Forecast result = forecast(iteration, machine, plan);
    if (result.possible) least = std::min(least, result.makespan);
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      if (chosen[i]) continue;
      const Gap& gap = gaps[i];
      std::vector<OffloadInterval> ways{{.gap = gap, .back_at = gap.until}};
      for (std::uint32_t step = (gap.after + 1) % count; step != gap.until; step = (step + 1) % count) {
        ways.push_back({.gap = gap, .back_at = step});
      }
      if (iteration.runs[gap.run].recompute != Nanoseconds()) {
        ways.push_back({.gap = gap, .back_at = gap.until, .to = Location::kNowhere});
      }
      chosen[i] = true;
      for (const OffloadInterval& way : ways) {
        plan.push_back(way);
        choose();
        plan.pop_back();
      }
      chosen[i] = false;
    }
  };
  choose();
  return least;
}

Machine machine_for(const Iteration& iteration, double rate) {
  return test::machine_of(test::all_bytes(iteration) * 6 / 10, rate);
}

Nanoseconds planned(const Policy& policy, const Iteration& iteration, const Machine& machine) {
  return forecast(iteration, machine, policy.plan(iteration, machine)).makespan;
}

// Fewer cases than below: all orders of all plans are tried.
TEST(StrPolicy, EqualsBruteForce) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Iteration iteration = tiny(seed);
    for (const double rate : {2e9, 10e9}) {
      const Machine machine = machine_for(iteration, rate);
      const Nanoseconds exact = planned(StrPolicy(), iteration, machine);
      EXPECT_EQ(exact, brute_force(iteration, machine)) << seed << " " << rate;
      EXPECT_LE(exact, forecast(iteration, machine, {}).makespan);
    }
  }
}

// Times of policies' plans relative to the optimum, mean and maximum.
TEST(StrPolicy, NoPolicyBeatsTheOptimum) {
  struct Case {
    Iteration iteration;
    Machine machine;
    double optimum;
  };
  std::vector<Case> cases;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (const double rate : {2e9, 10e9, 40e9}) {
      const Iteration iteration = tiny(seed);
      const Machine machine = machine_for(iteration, rate);
      cases.push_back({iteration, machine, static_cast<double>(planned(StrPolicy(), iteration, machine).value())});
    }
  }
  for (const PolicyEntry& entry : policies()) {
    if (entry.name == "str") continue;
    double sum = 0, most = 0;
    for (const auto& [iteration, machine, optimum] : cases) {
      const Nanoseconds makespan = planned(*make_policy(entry.name).value(), iteration, machine);
      const double over = static_cast<double>(makespan.value()) / optimum;
      EXPECT_GE(over, 1) << entry.name;
      sum += over;
      most = std::max(most, over);
    }
    RecordProperty(std::string(entry.name),
                   fmt::format("{:.2f} {:.2f}", sum / static_cast<double>(cases.size()), most));
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
