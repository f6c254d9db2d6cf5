#include "lab/published/vdnn_policy.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "iterations.hpp"
#include "planning/forecast.hpp"
#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

// The 13 convolutions of VGG-16, with in-place activation functions and pools between blocks; fp32.
struct Map {
  std::uint64_t elements;  // of one image
  bool convolution;
};
std::vector<Map> vgg16() {
  std::vector<Map> maps{{3 * 224 * 224, false}};
  const std::uint64_t channels[] = {64, 128, 256, 512, 512}, depth[] = {2, 2, 3, 3, 3};
  std::uint64_t side = 224;
  for (int block = 0; block < 5; ++block, side /= 2) {
    for (std::uint64_t i = 0; i < depth[block]; ++i) maps.push_back({channels[block] * side * side, true});
    maps.push_back({channels[block] * side * side / 4, false});
  }
  return maps;
}

// Forward makes a map from the previous one; backward of a map reads it and the previous one.
Iteration train(const std::vector<Map>& maps, std::uint64_t batch) {
  test::IterationBuilder build;
  const auto n = static_cast<std::uint32_t>(maps.size());
  for (const Map& map : maps) build.run(Bytes(4 * batch * map.elements));
  for (std::uint32_t i = 0; i < n; ++i) build.run(maps[i].convolution ? 2_MiB : 0_B);
  for (std::uint32_t i = 0; i < n; ++i) {
    std::vector<RunUse> uses{test::makes(i)};
    if (i > 0) uses.push_back(test::reads(i - 1));
    if (maps[i].convolution) uses.push_back(test::reads(n + i));
    build.step(500'000'000, uses);
  }
  for (std::uint32_t i = n; i-- > 1;) {
    std::vector<RunUse> uses{test::reads(i), test::reads(i - 1)};
    if (maps[i].convolution) uses.push_back(test::reads(n + i));
    build.step(1'000'000'000, uses);
  }
  return build.done();
}

TEST(VdnnPolicy, TheFeatureMapsOfVgg16HaveThePublishedSize) {
  std::vector<std::uint64_t> bytes;
  for (const Map& map : vgg16()) bytes.push_back(4 * 256 * map.elements);
  EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), (3_GiB + 64_MiB).value());  // 3.06 GiB
  const auto maps = std::accumulate(bytes.begin() + 1, bytes.end(), std::uint64_t{0});
  EXPECT_NEAR(static_cast<double>(maps) * 1e-9, 15.44, 0.02);
}

TEST(VdnnPolicy, ThePeakFallsFromNoneOverConvToAll) {
  const Iteration iteration = train(vgg16(), 256);
  const Machine machine = test::machine_of(12_GiB, 12e9);
  const Bytes none = planned_peak(iteration, machine, PlanGround(iteration, machine).plan);
  const Bytes conv = planned_peak(iteration, machine, VdnnConvPolicy().plan(iteration, machine));
  const Bytes all = planned_peak(iteration, machine, VdnnAllPolicy().plan(iteration, machine));
  EXPECT_LT(all, conv);
  EXPECT_LT(conv, none);
}

TEST(VdnnPolicy, DynTakesTheFirstConfigurationThatFits) {
  const Iteration iteration = train(vgg16(), 256);
  Machine machine = test::machine_of(1_GiB, 12e9);
  const auto moves = [&](const Policy& policy) { return test::moves_of(policy.plan(iteration, machine)).size(); };
  const Bytes none = planned_peak(iteration, machine, PlanGround(iteration, machine).plan);
  const Bytes conv = planned_peak(iteration, machine, VdnnConvPolicy().plan(iteration, machine));
  machine.device = conv - 1_B;
  EXPECT_EQ(moves(VdnnDynPolicy()), moves(VdnnAllPolicy()));
  machine.device = conv;
  EXPECT_EQ(moves(VdnnDynPolicy()), moves(VdnnConvPolicy()));
  machine.device = none;
  EXPECT_EQ(moves(VdnnDynPolicy()), 0u);
  EXPECT_LT(moves(VdnnConvPolicy()), moves(VdnnAllPolicy()));
}

}  // namespace
}  // namespace tessera
