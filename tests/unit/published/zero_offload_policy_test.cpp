#include "lab/published/zero_offload_policy.hpp"

#include <gtest/gtest.h>

#include "model_states.hpp"
#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

TEST(ZeroOffloadPolicy, OffloadsOptimizerStatesInBothPasses) {
  const test::TrainingShape shape{.layers = 6};
  const Iteration iteration = test::training(shape);
  const Machine machine = test::machine_of(1_GiB, 25e9);
  const OffloadPlan plan = test::moves_of(ZeroOffloadPolicy().plan(iteration, machine));
  std::uint32_t states = 0;
  for (const OffloadInterval& interval : plan) {
    EXPECT_GE(interval.gap.run, shape.optimizer_of(0)) << "weights and activations stay";
    if (interval.gap.run >= shape.gradient_of(0)) continue;
    ++states;
    EXPECT_TRUE(interval.gap.wraps);
    EXPECT_GE(interval.back_at, 2 * shape.layers - 2) << "back with the update, not before";
  }
  EXPECT_EQ(states, shape.layers);
}

// DeepSpeed's estimator, 2 P + 4 L on the device: 2 L of it are a copy of the largest layer's weights, which are used
// in place here, and 2 L its gradient.
TEST(ZeroOffloadPolicy, KeepsTheWeightsAndOneGradientOfT5SmallInBothPasses) {
  const test::ModelStates states{test::t5_small()};
  ASSERT_EQ(states.parameters(), 60'506'624U);
  ASSERT_EQ(states.largest(), 16'449'536U);
  const Iteration iteration = states.made();
  const Machine machine = test::machine_of(1_GiB, 1e15);
  const Bytes stays = test::stays_in_the_ways(states, iteration, ZeroOffloadPolicy().plan(iteration, machine));
  const std::uint64_t beside = states.modules[1];  // its gradient is computed while the table's is fetched
  EXPECT_EQ(stays, Bytes(2 * states.parameters() + 2 * states.largest() + 2 * beside));
  const OffloadPlan ground_plan = PlanGround(iteration, machine).plan;
  EXPECT_EQ(test::stays_in_the_ways(states, iteration, ground_plan), Bytes(16 * states.parameters()))
      << "if all is kept";
}

TEST(ZeroOffloadPolicy, ThePeakFallsByTheStates) {
  const Iteration iteration = test::training({.layers = 6});
  const Machine machine = test::machine_of(1_GiB, 25e9);
  const Bytes before = planned_peak(iteration, machine, PlanGround(iteration, machine).plan);
  EXPECT_LT(planned_peak(iteration, machine, ZeroOffloadPolicy().plan(iteration, machine)), before);
}

}  // namespace
}  // namespace tessera
