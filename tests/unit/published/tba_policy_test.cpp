#include "lab/published/tba_policy.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"

namespace tessera {
namespace {

const std::vector<Bytes> kBytes(8, Bytes(1000));
const std::vector<double> kForward(8, 1.0);  // nanoseconds

// Layer n needs (n + 2) * 1000 bytes in 24 - 2n ns.
TEST(TbaPolicy, TheBudgetIsTheFirstLayerThatOutrunsTheWrites) {
  const auto leaving = [](double bytes_per_ns) {
    return TbaPolicy::layers_leaving(kBytes, kForward, bytes_per_ns * 1e9);
  };
  EXPECT_EQ(leaving(2000.0 / 24 - 1), 0u);
  EXPECT_EQ(leaving(2000.0 / 24 + 1), 1u);
  EXPECT_EQ(leaving(5000.0 / 18 + 1), 4u);
  EXPECT_EQ(leaving(1e6), 7u) << "the last layer always stays";
  EXPECT_EQ(TbaPolicy::layers_leaving({}, {}, 1e9), 0u);
}

TEST(TbaPolicy, OffloadsTheFirstLayersToTheFileAndFetchesInReverse) {
  const Iteration iteration = test::stack(8, 16_MiB, 10'000'000);
  Machine machine = test::machine_of(64_MiB, 25e9);
  machine.file_write_rate = machine.file_read_rate = 0.9e9;
  const OffloadPlan plan = test::moves_of(TbaPolicy().plan(iteration, machine));
  ASSERT_GT(plan.size(), 1u);
  ASSERT_LT(plan.size(), 7u);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    EXPECT_EQ(plan[i].to, Location::kFile);
    EXPECT_EQ(plan[i].gap.run, plan.size() - 1 - i);
  }
  EXPECT_EQ(plan[1].back_at, plan[0].gap.until);
}

TEST(TbaPolicy, KeepsSmallRuns) {
  const Iteration iteration = test::stack(8, 8_MiB, 10'000'000);
  const Machine machine = test::machine_of(64_MiB, 25e9);
  EXPECT_TRUE(test::moves_of(TbaPolicy().plan(iteration, machine)).empty());
  EXPECT_FALSE(test::moves_of(TbaPolicy(8_MiB).plan(iteration, machine)).empty());
}

}  // namespace
}  // namespace tessera
