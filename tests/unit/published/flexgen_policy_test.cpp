#include "lab/published/flexgen_policy.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"

namespace tessera {
namespace {

// Ten layers, a weight and a part of the cache each, both used once per iteration; the cache grows.
constexpr std::uint32_t kLayers = 10;
Iteration decode() {
  test::IterationBuilder build;
  for (std::uint32_t i = 0; i < kLayers; ++i) build.run(10_MiB, RunClass::kWeight);
  for (std::uint32_t i = 0; i < kLayers; ++i) build.run(10_MiB, RunClass::kKvCache);
  for (std::uint32_t i = 0; i < kLayers; ++i) {
    build.step(1'000'000, {test::reads(i), test::writes(kLayers + i)});
  }
  return build.done();
}

struct Shares {
  double weights_away = 0, cache_away = 0, in_file = 0;
};
Shares shares(const Machine& machine) {
  Shares shares;
  for (const OffloadInterval& interval : FlexgenPolicy().plan(decode(), machine)) {
    (interval.gap.run < kLayers ? shares.weights_away : shares.cache_away) += 1.0 / kLayers;
    shares.in_file += interval.to == Location::kFile ? 0.5 / kLayers : 0;
  }
  return shares;
}

TEST(FlexgenPolicy, EvictsNothingWhenAllFits) {
  const Shares all = shares(test::machine_of(1_GiB, 1e9));
  EXPECT_EQ(all.weights_away + all.cache_away, 0);
}

TEST(FlexgenPolicy, OffloadsWeightsBeforeADirtyCache) {
  // The outbound link is slow: only the cache uses it. 0.8 × 150 - 20 MiB stay.
  Machine machine = test::machine_of(150_MiB, 0.2e9);
  machine.out_rate = 0.02e9;
  const Shares half = shares(machine);
  EXPECT_EQ(half.cache_away, 0);
  EXPECT_NEAR(half.weights_away, 1, 1e-9);
}

TEST(FlexgenPolicy, SpillsToTheFileBeyondTheHost) {
  Machine machine = test::machine_of(50_MiB, 25e9);
  machine.file_read_rate = machine.file_write_rate = 3e9;
  machine.host = 100_MiB;  // 0.8 of it
  const Shares all = shares(machine);
  EXPECT_GT(all.in_file, 0.4);
  EXPECT_LT(all.in_file, 0.6);
}

TEST(FlexgenPolicy, PlansNothingWhereNoSplitFits) {
  Machine machine = test::machine_of(50_MiB, 25e9);
  machine.host = 10_MiB;
  const Shares none = shares(machine);
  EXPECT_EQ(none.weights_away + none.cache_away, 0);
}

}  // namespace
}  // namespace tessera
