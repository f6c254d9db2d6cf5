#include "lab/published/lamina_policy.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"

namespace tessera {
namespace {

Iteration four_layers() {
  test::IterationBuilder build;
  for (int i = 0; i < 8; ++i) build.run(8_MiB, i < 4 ? RunClass::kWeight : RunClass::kKvCache);
  for (std::uint32_t i = 0; i < 4; ++i) build.step(1'000'000, {test::reads(i), test::writes(4 + i)});
  return build.done();
}

TEST(LaminaPolicy, ClassTagsKeepTheCacheApartFromTheWeights) {
  const OffloadPlan plan = LaminaPolicy().plan(four_layers(), test::machine_of(48_MiB, 25e9));
  EXPECT_EQ(plan.size(), 4u);
  for (const OffloadInterval& interval : plan) {
    EXPECT_GE(interval.gap.run, 4u);
    EXPECT_EQ(interval.to, Location::kHost);
  }
}

TEST(LaminaPolicy, ThePeerHoldsTheWholeCacheWhenItFits) {
  Machine machine = test::machine_of(48_MiB, 25e9);
  machine.peer_rate = 50e9;
  machine.peer = 32_MiB;
  for (const OffloadInterval& interval : LaminaPolicy().plan(four_layers(), machine))
    EXPECT_EQ(interval.to, Location::kPeer);
  machine.peer = 31_MiB;
  for (const OffloadInterval& interval : LaminaPolicy().plan(four_layers(), machine))
    EXPECT_EQ(interval.to, Location::kHost);
}

}  // namespace
}  // namespace tessera
