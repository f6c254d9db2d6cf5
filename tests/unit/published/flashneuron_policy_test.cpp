#include "lab/published/flashneuron_policy.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"

namespace tessera {
namespace {

Machine machine_with(Bytes device, double file_rate) {
  Machine machine = test::machine_of(device, 25e9);
  machine.file_read_rate = machine.file_write_rate = file_rate;
  return machine;
}

std::vector<std::uint32_t> leaving(const Iteration& iteration, const Machine& machine) {
  std::vector<std::uint32_t> runs;
  for (const OffloadInterval& interval : test::moves_of(FlashneuronPolicy().plan(iteration, machine))) {
    runs.push_back(interval.gap.run);
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

TEST(FlashneuronPolicy, WithSpareBandwidthOffloadsAPrefixCoveringTheExcess) {
  const Iteration iteration = test::stack(10, 8_MiB, 10'000'000);
  EXPECT_EQ(leaving(iteration, machine_with(56_MiB, 20e9)), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_TRUE(leaving(iteration, machine_with(80_MiB, 20e9)).empty());
}

TEST(FlashneuronPolicy, TheLastCopyEndsBeforeTheForwardPass) {
  const Iteration iteration = test::stack(10, 8_MiB, 10'000'000);
  // 8 MiB in 21 ms: the queue has room for four in the 90 ms after the first step.
  const Machine machine = machine_with(8_MiB, 0.4e9);
  EXPECT_EQ(leaving(iteration, machine).size(), 4u);
}

TEST(FlashneuronPolicy, FetchesInLinkOrder) {
  const Iteration iteration = test::stack(6, 8_MiB, 10'000'000);
  const Machine machine = machine_with(16_MiB, 0.9e9);  // a copy takes most of a step
  const OffloadPlan plan = test::moves_of(FlashneuronPolicy().plan(iteration, machine));
  ASSERT_FALSE(plan.empty());
  for (const OffloadInterval& interval : plan) EXPECT_LT(interval.back_at, interval.gap.until);
}

}  // namespace
}  // namespace tessera
