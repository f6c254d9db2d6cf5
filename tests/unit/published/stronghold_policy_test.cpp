#include "lab/published/stronghold_policy.hpp"

#include <gtest/gtest.h>

#include <set>

#include "iterations.hpp"
#include "planning/forecast.hpp"

namespace tessera {
namespace {

constexpr std::uint32_t kStrongholdLayers = 12;
constexpr std::uint64_t kCompute = 1'000'000;

// Equal layers of one step and one weight each, repeated.
Iteration uniform() {
  test::IterationBuilder build;
  for (std::uint32_t i = 0; i < kStrongholdLayers; ++i) build.run(8_MiB, RunClass::kWeight);
  for (std::uint32_t i = 0; i < kStrongholdLayers; ++i) build.step(kCompute, {test::reads(i)});
  return build.done();
}

Machine machine_with(double copies_per_step) {
  const double rate = static_cast<double>((8_MiB).value()) * 1e9 / (copies_per_step * double{kCompute});
  return test::machine_of(80_MiB, rate);
}

// How many layers before its use each weight's fetch begins.
std::uint32_t window_on(const Machine& machine) {
  std::set<std::uint32_t> ahead;
  for (const OffloadInterval& interval : StrongholdPolicy().plan(uniform(), machine)) {
    ahead.insert((interval.gap.until + kStrongholdLayers - interval.back_at) % kStrongholdLayers);
  }
  EXPECT_EQ(ahead.size(), 1u) << "all layers are alike";
  return ahead.empty() ? 0 : *ahead.begin();
}

TEST(StrongholdPolicy, TheWindowIsCopyTimeOverComputeTimeRoundedUp) {
  EXPECT_EQ(window_on(machine_with(0.3)), 1u);
  EXPECT_EQ(window_on(machine_with(0.999)), 1u);
  EXPECT_EQ(window_on(machine_with(1.5)), 2u);
  EXPECT_EQ(window_on(machine_with(2.5)), 3u);
  EXPECT_EQ(window_on(machine_with(3.999)), 4u);
}

TEST(StrongholdPolicy, TheWindowShrinksToTheDevice) {
  Machine machine = machine_with(3.5);
  machine.device = 24_MiB;
  EXPECT_EQ(window_on(machine), 2u);
}

TEST(StrongholdPolicy, AWindowThatCoversTheFetchStallsNothing) {
  const Machine machine = machine_with(0.9);
  const OffloadPlan plan = StrongholdPolicy().plan(uniform(), machine);
  EXPECT_EQ(plan.size(), kStrongholdLayers);
  const Forecast result = forecast(uniform(), machine, plan);
  EXPECT_EQ(result.stall, Nanoseconds());
  EXPECT_LE(result.peak, 24_MiB);
  EXPECT_EQ(result.out, Bytes()) << "weights that nobody writes have their copy";
}

}  // namespace
}  // namespace tessera
