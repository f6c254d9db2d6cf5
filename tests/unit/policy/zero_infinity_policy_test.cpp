#include "policy/zero_infinity_policy.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"

namespace tessera {
namespace {

// ait·bw / (ait·bw + peak), with ait = flop / byte moved.
TEST(ZeroInfinityPolicy, EfficiencyIsThePaperSFormula) {
  const double flops = 6e12, peak = 70e12, bandwidth = 3e9;
  const Bytes bytes(2'000'000'000);
  const double ait = flops / 2e9;
  const double compute_ns = flops / peak * 1e9;
  EXPECT_NEAR(ZeroInfinityPolicy::efficiency(compute_ns, bytes, bandwidth),
              ait * bandwidth / (ait * bandwidth + peak), 1e-12);
  EXPECT_EQ(ZeroInfinityPolicy::efficiency(1, bytes, 0), 0);
  EXPECT_EQ(ZeroInfinityPolicy::efficiency(1, Bytes(), 0), 1);
}

TEST(ZeroInfinityPolicy, AClassGoesToTheFileWhenThatIsFastEnough) {
  const test::TrainingShape shape;
  const Iteration iteration = test::training(shape);
  Machine machine = test::machine_of(1_GiB, 25e9);
  const auto in_file = [&](double rate) {
    machine.file_read_rate = machine.file_write_rate = rate;
    std::size_t count = 0;
    for (const Absence& absence : ZeroInfinityPolicy().plan(iteration, machine)) {
      count += absence.to == Away::kFile ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(in_file(0), 0u);
  EXPECT_EQ(in_file(0.1e9), 0u);
  const std::size_t all = test::moves_of(ZeroInfinityPolicy().plan(iteration, machine)).size();
  EXPECT_EQ(in_file(100e9), all);
}

TEST(ZeroInfinityPolicy, AFullHostLeavesTheFileWhateverItsSpeed) {
  const Iteration iteration = test::training();
  Machine machine = test::machine_of(1_GiB, 25e9);
  machine.file_read_rate = machine.file_write_rate = 0.1e9;
  machine.host = 1_MiB;
  const AbsencePlan plan = test::moves_of(ZeroInfinityPolicy().plan(iteration, machine));
  ASSERT_FALSE(plan.empty());
  for (const Absence& absence : plan) EXPECT_EQ(absence.to, Away::kFile);
}

}  // namespace
}  // namespace tessera
