#include "lab/published/zero_infinity_policy.hpp"

#include <gtest/gtest.h>

#include "model_states.hpp"
#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

// ait·bw / (ait·bw + peak), with ait = flop / byte moved.
TEST(ZeroInfinityPolicy, EfficiencyIsThePapersFormula) {
  const double flops = 6e12, peak = 70e12, bandwidth = 3e9;
  const Bytes bytes(2'000'000'000);
  const double ait = flops / 2e9;
  const double compute_ns = flops / peak * 1e9;
  EXPECT_NEAR(ZeroInfinityPolicy::efficiency(compute_ns, bytes, bandwidth), ait * bandwidth / (ait * bandwidth + peak),
              1e-12);
  EXPECT_EQ(ZeroInfinityPolicy::efficiency(1, bytes, 0), 0);
  EXPECT_EQ(ZeroInfinityPolicy::efficiency(1, Bytes(), 0), 1);
}

// DeepSpeed's estimator, 4 L on the device: weights and gradient of the largest layer.
TEST(ZeroInfinityPolicy, KeepsTheLargestLayerOfT5SmallInBothPasses) {
  const test::ModelStates states{test::t5_small()};
  const Iteration iteration = states.made();
  const OffloadPlan plan = ZeroInfinityPolicy().plan(iteration, test::machine_of(1_GiB, 1e15));
  const Bytes stays = test::stays_in_the_ways(states, iteration, plan);
  const std::uint64_t beside = states.modules[1];  // used while the table is fetched
  EXPECT_EQ(stays, Bytes(4 * states.largest() + 4 * beside));
}

// The paper's working memory, 16 hidden^2 bytes, plus the weights of the next module, of the same size. Of its model
// states, 240 layers hidden^2 bytes, 192 exist here: 16 bytes for each of 12 layers hidden^2 parameters, where the
// paper has a second, 4-byte gradient.
TEST(ZeroInfinityPolicy, WorkingMemoryIsIndependentOfTheNumberOfLayers) {
  constexpr std::uint64_t kSquare = 1024 * 1024;
  for (const std::uint64_t layers : {2U, 8U}) {
    test::ModelStates states;
    for (std::uint64_t i = 0; i < layers; ++i)
      states.modules.insert(states.modules.end(), {3 * kSquare, kSquare, 4 * kSquare, 4 * kSquare});
    const Iteration iteration = states.made();
    const Machine machine = test::machine_of(1_TiB, 1e15);
    const OffloadPlan plan = ZeroInfinityPolicy().plan(iteration, machine),
                      ground_plan = PlanGround(iteration, machine).plan;
    EXPECT_EQ(test::stays_in_the_ways(states, iteration, plan), Bytes((16 + 8) * kSquare)) << layers;
    EXPECT_EQ(test::stays_in_the_ways(states, iteration, ground_plan), Bytes(192 * layers * kSquare)) << layers;
  }
}

TEST(ZeroInfinityPolicy, AClassGoesToTheFileWhenThatIsFastEnough) {
  const test::TrainingShape shape;
  const Iteration iteration = test::training(shape);
  Machine machine = test::machine_of(1_GiB, 25e9);
  const auto in_file = [&](double rate) {
    machine.file_read_rate = machine.file_write_rate = rate;
    std::size_t count = 0;
    for (const OffloadInterval& interval : ZeroInfinityPolicy().plan(iteration, machine)) {
      count += interval.to == Location::kFile ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(in_file(0), 0u);
  EXPECT_EQ(in_file(0.1e9), 0u);
  const std::size_t all = test::moves_of(ZeroInfinityPolicy().plan(iteration, machine)).size();
  EXPECT_EQ(in_file(100e9), all);
}

TEST(ZeroInfinityPolicy, AFullHostUsesTheFileWhateverItsSpeed) {
  const Iteration iteration = test::training();
  Machine machine = test::machine_of(1_GiB, 25e9);
  machine.file_read_rate = machine.file_write_rate = 0.1e9;
  machine.host = 1_MiB;
  const OffloadPlan plan = test::moves_of(ZeroInfinityPolicy().plan(iteration, machine));
  ASSERT_FALSE(plan.empty());
  for (const OffloadInterval& interval : plan) EXPECT_EQ(interval.to, Location::kFile);
}

}  // namespace
}  // namespace tessera
