#include "lab/published/l2l_policy.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"
#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

TEST(L2lPolicy, ThePeakIsFlatInTheDepth) {
  const auto peak = [](std::uint32_t layers) {
    const Iteration iteration = test::training({.layers = layers});
    const Machine machine = test::machine_of(1_GiB, 100e9);
    return planned_peak(iteration, machine, L2lPolicy().plan(iteration, machine));
  };
  const Bytes shallow = peak(8);
  EXPECT_LT(shallow, test::all_bytes(test::training({.layers = 8})) / 2);
  for (const std::uint32_t layers : {16u, 32u, 64u}) EXPECT_EQ(peak(layers), shallow) << layers;
}

}  // namespace
}  // namespace tessera
