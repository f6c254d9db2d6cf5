#include "lab/published/te_groups_policy.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"
#include "planning/forecast.hpp"
#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t kStep = 1'000'000;

// A link on which copying a layer takes `copy` of its steps.
Machine machine_of_copies(Bytes device, double copy) {
  return test::machine_of(device, static_cast<double>((8_MiB).value()) * 1e9 / (copy * double{kStep}));
}

TEST(TeGroupsPolicy, ThePeakOfUniformLayersIsTheKeptOnes) {
  for (const std::uint32_t layers : {5u, 8u, 12u}) {
    const Iteration iteration = test::stack(layers, 8_MiB, kStep);
    for (std::uint32_t leaving = 0; leaving + 2 <= layers; ++leaving) {
      const Bytes expected = 8_MiB * (layers - leaving);
      const Machine machine = machine_of_copies(expected, 0.99);
      const OffloadPlan plan = TeGroupsPolicy(leaving).plan(iteration, machine);
      EXPECT_EQ(planned_peak(iteration, machine, plan), expected) << layers << " " << leaving;
      EXPECT_EQ(forecast(iteration, machine, plan).stall, Nanoseconds()) << layers << " " << leaving;
    }
  }
}

// If they take exactly as long as the computation, copies of three layers are just in time; any longer, and the third
// cannot be copied out and back beside the others.
TEST(TeGroupsPolicy, OffloadsTwoOfFiveLayersWithoutAStallButNotThree) {
  const Iteration iteration = test::stack(5, 8_MiB, kStep);
  const auto stall = [&](std::uint32_t leaving) {
    const Machine machine = machine_of_copies(8_MiB * (5 - leaving), 1.05);
    return forecast(iteration, machine, TeGroupsPolicy(leaving).plan(iteration, machine)).stall;
  };
  EXPECT_EQ(stall(1), Nanoseconds());
  EXPECT_EQ(stall(2), Nanoseconds());
  EXPECT_GT(stall(3), Nanoseconds());
  EXPECT_GT(stall(4), stall(3));
}

TEST(TeGroupsPolicy, PicksTheFewestLayersThatFit) {
  const Iteration iteration = test::stack(8, 8_MiB, kStep);
  const auto moves = [&](Bytes device) {
    return test::moves_of(TeGroupsPolicy().plan(iteration, machine_of_copies(device, 0.9))).size();
  };
  EXPECT_EQ(moves(64_MiB), 0u);
  EXPECT_EQ(moves(48_MiB), 2u);
}

TEST(TeGroupsPolicy, KeepsSmallRuns) {
  const Iteration iteration = test::stack(8, 256_KiB, kStep);
  EXPECT_TRUE(test::moves_of(TeGroupsPolicy(4).plan(iteration, machine_of_copies(64_MiB, 0.9))).empty());
}

}  // namespace
}  // namespace tessera
