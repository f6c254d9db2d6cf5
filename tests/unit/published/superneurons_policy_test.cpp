#include "lab/published/superneurons_policy.hpp"

#include <gtest/gtest.h>

#include <set>

#include "iterations.hpp"
#include "planning/forecast.hpp"
#include "planning/structure.hpp"

namespace tessera {
namespace {

// AlexNet, batch 200, fp32: elements per image of each map; a layer's backward step uses its input, its output and the
// gradients of both.
Iteration alexnet() {
  const std::uint64_t maps[] = {
      3 * 227 * 227, 96 * 55 * 55,  96 * 55 * 55,  96 * 55 * 55,  96 * 27 * 27,  256 * 27 * 27, 256 * 27 * 27,
      256 * 27 * 27, 256 * 13 * 13, 384 * 13 * 13, 384 * 13 * 13, 384 * 13 * 13, 384 * 13 * 13, 256 * 13 * 13,
      256 * 13 * 13, 256 * 6 * 6,   4096,          4096,          4096,          4096,          1000};
  constexpr std::uint32_t n = std::size(maps);
  test::IterationBuilder build;
  for (int gradients = 0; gradients < 2; ++gradients) {
    for (const std::uint64_t elements : maps) build.run(Bytes(200 * 4 * elements));
  }
  build.step(1'000'000, {test::makes(0)});
  for (std::uint32_t i = 1; i < n; ++i) build.step(1'000'000, {test::reads(i - 1), test::makes(i)});
  build.step(1'000'000, {test::reads(n - 1), test::makes(2 * n - 1)});
  for (std::uint32_t i = n - 1; i > 0; --i) {
    std::vector<RunUse> uses{test::reads(i - 1), test::reads(i), test::reads(n + i)};
    if (i > 1) uses.push_back(test::makes(n + i - 1));
    build.step(2'000'000, uses);
  }
  return build.done();
}

TEST(SuperneuronsPolicy, AlexNetNeedsItsLargestStepAndNoByteMore) {
  const Iteration iteration = alexnet();
  const Bytes least = largest_step(iteration);
  EXPECT_EQ(least, Bytes(4ull * 200 * 96 * 55 * 55 * 4));
  EXPECT_NEAR(static_cast<double>(least.value()) / (1 << 20), 886.23, 0.005);
  const SuperneuronsPolicy policy;
  const auto possible = [&](Bytes device) {
    const Machine machine = test::machine_of(device, 12e9);
    return forecast(iteration, machine, policy.plan(iteration, machine)).possible;
  };
  EXPECT_TRUE(possible(least));
  EXPECT_FALSE(possible(least - 1_B));
}

TEST(SuperneuronsPolicy, MovesNothingWhileLivenessAloneFits) {
  const Iteration iteration = test::training();
  const SuperneuronsPolicy policy;
  EXPECT_TRUE(test::moves_of(policy.plan(iteration, test::machine_of(1_GiB, 12e9))).empty());
  EXPECT_FALSE(test::moves_of(policy.plan(iteration, test::machine_of(80_MiB, 12e9))).empty());
}

TEST(SuperneuronsPolicy, RecomputesWhatIsCheapAndMovesOutputsOfWeightedLayers) {
  // conv -> cheap -> conv -> cheap ..., and back.
  test::IterationBuilder build;
  constexpr std::uint32_t n = 6;
  for (std::uint32_t i = 0; i < n; ++i) build.run(8_MiB, RunClass::kUnknown, Nanoseconds(1000));
  for (std::uint32_t i = 0; i < n; ++i) build.run(1_MiB);
  for (std::uint32_t i = 0; i < n; ++i) {
    std::vector<RunUse> uses{test::makes(i)};
    if (i > 0) uses.push_back(test::reads(i - 1));
    if (i % 2 == 0) uses.push_back(test::reads(n + i));
    build.step(1'000'000, uses);
  }
  for (std::uint32_t i = n; i-- > 0;) build.step(1'000'000, {test::reads(i)});
  const Machine machine = test::machine_of(24_MiB, 12e9);
  const OffloadPlan plan = test::moves_of(SuperneuronsPolicy().plan(build.done(), machine));
  std::set<Location> ways;
  for (const OffloadInterval& interval : plan) ways.insert(interval.to);
  ASSERT_EQ(ways.size(), 2u);
  for (const OffloadInterval& interval : plan) {
    EXPECT_EQ(interval.to, interval.gap.run % 2 == 0 ? Location::kHost : Location::kNowhere);
  }
}

TEST(SuperneuronsPolicy, EvictsTheLeastRecentlyUsedOnDemand) {
  Snapshot snapshot{.need = 2_MiB, .epoch = Epoch(9), .runs = {}};
  snapshot.runs.push_back({.run = 1, .bytes = 2_MiB, .used = Epoch(5), .next = Epoch(100)});
  snapshot.runs.push_back({.run = 2, .bytes = 2_MiB, .used = Epoch(4), .next = Epoch(10)});
  EXPECT_EQ(SuperneuronsPolicy().decide(snapshot).victims, std::vector<std::size_t>{2});
}

}  // namespace
}  // namespace tessera
