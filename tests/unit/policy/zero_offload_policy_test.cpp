#include "policy/zero_offload_policy.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"
#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

TEST(ZeroOffloadPolicy, OptimizerStatesAreAwayForwardAndBackward) {
  const test::TrainingShape shape{.layers = 6};
  const Iteration iteration = test::training(shape);
  const Machine machine = test::machine_of(1_GiB, 25e9);
  const AbsencePlan plan = test::moves_of(ZeroOffloadPolicy().plan(iteration, machine));
  std::uint32_t states = 0;
  for (const Absence& absence : plan) {
    EXPECT_GE(absence.gap.run, shape.optimizer_of(0)) << "weights and activations stay";
    if (absence.gap.run >= shape.gradient_of(0)) continue;
    ++states;
    EXPECT_TRUE(absence.gap.wraps);
    EXPECT_GE(absence.back_at, 2 * shape.layers - 2) << "back with the update, not before";
  }
  EXPECT_EQ(states, shape.layers);
}

TEST(ZeroOffloadPolicy, ThePeakFallsByTheStates) {
  const Iteration iteration = test::training({.layers = 6});
  const Machine machine = test::machine_of(1_GiB, 25e9);
  const Bytes before = planned_peak(iteration, machine, PlanGround(iteration, machine).plan);
  EXPECT_LT(planned_peak(iteration, machine, ZeroOffloadPolicy().plan(iteration, machine)), before);
}

}  // namespace
}  // namespace tessera
