#include "policy/auto_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "planning/aggressive_plan.hpp"
#include "planning/farthest_intervals.hpp"
#include "planning/forecast.hpp"
#include "policy/recency_policy.hpp"
#include "strategies.hpp"

namespace tessera {
namespace {

// Layers of two sizes, written in forward and read in reverse order, and a weight for each, read in both passes.
Iteration training() {
  constexpr std::uint32_t kLayers = 12;
  Iteration iteration;
  for (std::uint32_t i = 0; i < 2 * kLayers; ++i) {
    const bool forward = i < kLayers;
    const std::uint32_t layer = forward ? i : 2 * kLayers - 1 - i;
    iteration.uses.push_back({.run = layer, .writes = forward, .fresh = forward});
    iteration.uses.push_back({.run = kLayers + layer});
    iteration.steps.push_back({.duration = Nanoseconds(100'000), .first_use = 2 * i, .end_use = 2 * i + 2});
  }
  for (std::uint32_t i = 0; i < kLayers; ++i) iteration.runs.push_back({.bytes = Bytes(1000 + i % 3 * 500)});
  for (std::uint32_t i = 0; i < kLayers; ++i) iteration.runs.push_back({.bytes = Bytes(400)});
  return iteration;
}

Machine machine(Bytes device, double rate) {
  return {.device = device, .host = 1_GiB, .out_rate = rate, .in_rate = rate};
}

TEST(AutoPolicy, DecidesByRecencyWhereNoPlanHelps) {
  Snapshot snapshot;
  snapshot.epoch = Epoch(100);
  snapshot.need = 2_MiB;
  for (std::size_t i = 0; i < 3; ++i) {
    RunPicture run;
    run.run = i;
    run.bytes = 2_MiB;
    run.used = Epoch(50 + i);
    snapshot.runs.push_back(run);
  }
  EXPECT_EQ(AutoPolicy().decide(snapshot).victims, RecencyPolicy().decide(snapshot).victims);
}

bool offers(const std::vector<Strategy>& strategies, std::string_view name) {
  return std::ranges::any_of(strategies, [name](const Strategy& s) { return s.name == name; });
}

Forecast best_forecast(const Machine& machine, std::string_view name) {
  const AutoPolicy policy;
  Forecast best{.possible = false};
  for (const Strategy& strategy : test::strategies_of(policy, training(), machine)) {
    if (strategy.name != name) continue;
    const Forecast planned = forecast(training(), machine, strategy.plan);
    if (is_better(planned, best)) best = planned;
  }
  return best;
}

TEST(AutoPolicy, OffersThePlainFallbackFirst) {
  const AutoPolicy policy;
  const std::vector<Strategy> strategies = test::strategies_of(policy, training(), machine(Bytes(11'000), 1e9));
  EXPECT_EQ(strategies.front().name, "recency");
  EXPECT_TRUE(strategies.front().plan.empty());
  EXPECT_EQ(strategies.front().fallback->name(), "recency");
}

// A plan that is not requested is not made.
TEST(AutoPolicy, OffersNoMoreThanRequested) {
  const AutoPolicy policy;
  for (std::size_t wanted = 1; wanted < 20; ++wanted) {
    std::size_t offered = 0;
    policy.strategies(training(), machine(Bytes(11'000), 1e9), [&](const Strategy&) { return ++offered < wanted; });
    EXPECT_EQ(offered, wanted);
  }
}

TEST(AutoPolicy, OffersPublishedPoliciesButNotItself) {
  const AutoPolicy policy;
  const std::vector<Strategy> strategies = test::strategies_of(policy, training(), machine(Bytes(11'000), 1e9));
  for (const char* name : {"belady", "capuchin", "delta", "mpress"}) {
    EXPECT_TRUE(offers(strategies, name)) << name;
  }
  EXPECT_FALSE(offers(strategies, "auto"));
}

TEST(AutoPolicy, SharesOneObjectAmongEqualDeciders) {
  const AutoPolicy policy;
  const std::vector<Strategy> strategies = test::strategies_of(policy, training(), machine(Bytes(11'000), 1e9));
  const auto rest_of = [&](std::string_view name) {
    return std::ranges::find(strategies, name, &Strategy::name)->fallback;
  };
  EXPECT_EQ(rest_of("capuchin"), rest_of("belady"));
  EXPECT_EQ(rest_of("mpress"), rest_of("belady"));
  EXPECT_NE(rest_of("delta"), rest_of("belady"));
}

TEST(AutoPolicy, OffersTheFileOnlyWhenTheHostIsTooSmall) {
  const AutoPolicy policy;
  Machine with_disk = machine(Bytes(11'000), 1e9);
  with_disk.file = 1_GiB, with_disk.file_write_rate = with_disk.file_read_rate = 1e9;
  const auto sent = [&](std::string_view name) {
    return std::ranges::any_of(test::strategies_of(policy, training(), with_disk), [&](const Strategy& strategy) {
      return strategy.name == name && std::ranges::count(strategy.plan, Location::kFile, &OffloadInterval::to) > 0;
    });
  };
  EXPECT_FALSE(sent("aggressive"));
  with_disk.host = Bytes(3'000);
  EXPECT_TRUE(sent("aggressive"));
}

// What a plan for the true lives has away, and what one has that leaves blocks behind their last use to the fallback.
TEST(AutoPolicy, PlansBothWaysWhereBlocksLinger) {
  const AutoPolicy policy;
  const auto times_sent = [&](const Iteration& iteration) {
    return std::ranges::count(test::strategies_of(policy, iteration, machine(Bytes(11'000), 1e9)), "aggressive/freed",
                              &Strategy::name);
  };
  Iteration iteration = training();
  EXPECT_EQ(times_sent(iteration), 0);
  iteration.runs.back().lingers = 1;
  EXPECT_EQ(times_sent(iteration), 2) << "in either order of eviction";
}

TEST(AutoPolicy, PlansAtOnceAsIfBlocksWereFreed) {
  const AutoPolicy policy;
  const Machine small = machine(Bytes(11'000), 1e9);
  Iteration held = training();
  for (IterationRun& run : held.runs) run.lingers = 6;
  const auto moves = [](const OffloadPlan& plan) {
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, Bytes>> all;
    for (const OffloadInterval& each : plan) all.emplace_back(each.gap.run, each.gap.after, each.back_at, each.part);
    return all;
  };
  const OffloadPlan freed = policy.quick_strategy(training(), small).value().plan;
  EXPECT_FALSE(freed.empty());
  EXPECT_EQ(moves(policy.quick_strategy(held, small).value().plan), moves(freed));
  const OffloadPlan of_true_life = aggressive_plan(held, small, farthest_intervals(held, small.device));
  EXPECT_NE(moves(of_true_life), moves(freed)) << "their lives make a difference";
}

TEST(AutoPolicy, HidesEveryMoveAtHalfTheMemoryWhereTheLinksAllowIt) {
  for (const char* ours : {"aggressive", "cover"}) {
    const Forecast planned = best_forecast(machine(Bytes(11'000), 1e9), ours);
    EXPECT_TRUE(planned.possible);
    EXPECT_GT(planned.out, Bytes());
    EXPECT_EQ(planned.makespan, Nanoseconds(2'400'000)) << ours;
  }
}

}  // namespace
}  // namespace tessera
