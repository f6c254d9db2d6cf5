#include "policy/plan_ground.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"

namespace tessera {
namespace {

TEST(PlanGround, StartsWithFreedRunsAndOffersTheRest) {
  const Iteration iteration = test::stack(4, 1_MiB, 100);
  const Machine machine = test::machine_of(8_MiB, 25e9);
  const PlanGround ground(iteration, machine);
  EXPECT_EQ(ground.plan.size(), 4u);
  EXPECT_EQ(ground.gaps.size(), 3u) << "there is no step inside the gap of the last layer";
}

TEST(PlanGround, OffersNothingOfPinnedRuns) {
  Iteration iteration = test::stack(4, 1_MiB, 100);
  iteration.runs[0].pinned = true;
  const Machine machine = test::machine_of(8_MiB, 25e9);
  const PlanGround ground(iteration, machine);
  EXPECT_EQ(ground.plan.size(), 3u);
  EXPECT_EQ(ground.gaps.size(), 2u);
}

TEST(PlanGround, SavedActivationsAwaitTheBackwardPass) {
  const Iteration iteration = test::training({.layers = 5});
  const Machine machine = test::machine_of(1_GiB, 25e9);
  const PlanGround ground(iteration, machine);
  const std::vector<Gap> saved = ground.saved_activations();
  ASSERT_EQ(saved.size(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(saved[i].run, i);
}

TEST(PlanGround, AChainFetchesEachRunAtThePreviousUse) {
  const Iteration iteration = test::stack(5, 1_MiB, 100);
  const Machine machine = test::machine_of(8_MiB, 25e9);
  PlanGround ground(iteration, machine);
  ground.plan.clear();
  ground.leave_in_chain(ground.saved_activations(), Location::kFile);
  ASSERT_EQ(ground.plan.size(), 4u);
  EXPECT_EQ(ground.plan[0].gap.run, 3u);
  EXPECT_EQ(ground.plan[0].back_at, 5u) << "at the turn";
  EXPECT_EQ(ground.plan[1].gap.run, 2u);
  EXPECT_EQ(ground.plan[1].back_at, 6u);
  EXPECT_EQ(ground.plan[3].back_at, 8u);
  EXPECT_EQ(ground.plan[3].to, Location::kFile);
}

TEST(PlanGround, LayersFetchRunsAheadOfUse) {
  const test::TrainingShape shape{.layers = 4};
  const Iteration iteration = test::training(shape);
  const Machine machine = test::machine_of(1_GiB, 25e9);
  PlanGround ground(iteration, machine);
  ground.plan.clear();
  const Gap gap{.run = shape.weight_of(0), .after = 0, .until = 7};
  ground.leave_for_layers(gap, Location::kHost, 2);
  EXPECT_EQ(ground.plan[0].back_at, 5u);
}

TEST(PlanGround, ReportsNonWeightReadsAndWrites) {
  const test::TrainingShape shape{.layers = 3};
  const Iteration iteration = test::training(shape);
  const Structure structure = find_structure(iteration);
  const std::vector<bool> read = beside_weights(iteration, structure, false);
  EXPECT_TRUE(read[0]);
  EXPECT_FALSE(read[shape.gradient_of(2)]) << "that is on the way back";
  EXPECT_TRUE(beside_weights(iteration, structure, true)[2]);
}

TEST(PlanGround, ThePlannedPeakIsThatOfADeviceWithoutLimit) {
  const Iteration iteration = test::stack(4, 1_MiB, 100);
  const Machine machine = test::machine_of(1_MiB, 25e9);
  const PlanGround ground(iteration, machine);
  EXPECT_EQ(planned_peak(iteration, ground.machine, ground.plan), 4_MiB);
}

TEST(PlanGround, TheFileIsWhereItsLinksAre) {
  Machine machine = test::machine_of(1_MiB, 25e9);
  EXPECT_EQ(file_if_any(machine), Location::kHost);
  machine.file_read_rate = machine.file_write_rate = 1e9;
  EXPECT_EQ(file_if_any(machine), Location::kFile);
}

}  // namespace
}  // namespace tessera
