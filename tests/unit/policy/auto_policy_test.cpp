#include "policy/auto_policy.hpp"

#include <gtest/gtest.h>

#include "learn/forecast.hpp"
#include "policy/recency_policy.hpp"

namespace tessera {
namespace {

// Layers of two sizes, written forwards and read backwards, and a weight for each, read in both.
Iteration training() {
  constexpr std::uint32_t kLayers = 12;
  Iteration iteration;
  for (std::uint32_t i = 0; i < 2 * kLayers; ++i) {
    const bool forward = i < kLayers;
    const std::uint32_t layer = forward ? i : 2 * kLayers - 1 - i;
    iteration.uses.push_back({.run = layer, .writes = forward, .fresh = forward});
    iteration.uses.push_back({.run = kLayers + layer});
    iteration.steps.push_back({.duration = Nanoseconds(100'000), .first_use = 2 * i,
                               .end_use = 2 * i + 2});
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
  snapshot.epoch = 100;
  snapshot.need = 2_MiB;
  for (std::size_t i = 0; i < 3; ++i) {
    RunPicture run;
    run.run = i;
    run.bytes = 2_MiB;
    run.used = 50 + i;
    snapshot.runs.push_back(run);
  }
  EXPECT_EQ(AutoPolicy().decide(snapshot).leave, RecencyPolicy().decide(snapshot).leave);
}

TEST(AutoPolicy, HidesEveryMoveAtHalfTheMemoryWhereTheLinksAllowIt) {
  const Machine half = machine(Bytes(11'000), 1e9);
  const AbsencePlan plan = AutoPolicy().plan(training(), half);
  const Forecast planned = forecast(training(), half, plan);
  EXPECT_TRUE(planned.possible);
  EXPECT_GT(planned.out, Bytes());
  EXPECT_EQ(planned.makespan, Nanoseconds(2'400'000));
}

TEST(AutoPolicy, PlansNothingWorseThanNoPlanWhateverTheMachine) {
  for (const double rate : {1e6, 1e7, 1e8, 1e10}) {
    for (const std::uint64_t device : {3'000u, 6'000u, 12'000u, 24'000u}) {
      const Machine some = machine(Bytes(device), rate);
      const Forecast planned = forecast(training(), some, AutoPolicy().plan(training(), some));
      EXPECT_LE(planned.makespan, forecast(training(), some, {}).makespan) << device << " " << rate;
    }
  }
}

}  // namespace
}  // namespace tessera
