#include "lab/published/lohan_policy.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"
#include "planning/forecast.hpp"

namespace tessera {
namespace {

// Runs that do not move are recomputed, at twice the cost of making them; the others use the link.
Iteration recomputeable() {
  test::TrainingShape shape{.layers = 24, .activation = 32_MiB, .weight = 1_MiB, .optimizer = 1_MiB};
  shape.recompute = Nanoseconds(2'000'000);
  return test::training(shape);
}

TEST(LohanPolicy, TheTimeHasOneMinimumInTheBytesMovedAndTheSearchFindsIt) {
  const Iteration iteration = recomputeable();
  const Machine machine = test::machine_of(256_MiB, 14e9);
  std::vector<std::uint64_t> times;
  for (std::size_t count = 0; count <= 23; ++count) {
    const OffloadPlan plan = LohanPolicy::plan_moving(iteration, machine, count);
    times.push_back(forecast(iteration, machine, plan).makespan.value());
  }
  const auto least = std::min_element(times.begin(), times.end());
  EXPECT_GT(least, times.begin());
  EXPECT_LT(*least, times.back());
  EXPECT_TRUE(std::is_sorted(times.begin(), least + 1, std::greater<>()));
  EXPECT_TRUE(std::is_sorted(least, times.end()));
  EXPECT_EQ(forecast(iteration, machine, LohanPolicy().plan(iteration, machine)).makespan.value(), *least);
}

TEST(LohanPolicy, OffloadsTheMostExpensiveToRecomputeFirst) {
  test::IterationBuilder build;
  for (int i = 0; i < 6; ++i) build.run(8_MiB);
  for (std::uint32_t i = 0; i < 6; ++i) build.step(i == 3 ? 5'000'000 : 1'000'000, {test::makes(i)});
  for (std::uint32_t i = 6; i-- > 0;) build.step(1'000'000, {test::reads(i)});
  const OffloadPlan plan = test::moves_of(LohanPolicy::plan_moving(build.done(), test::machine_of(24_MiB, 25e9), 1));
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].gap.run, 3u);
}

TEST(LohanPolicy, FillsTheHostBeforeTheFile) {
  const Iteration iteration = test::stack(6, 8_MiB, 1'000'000);
  Machine machine = test::machine_of(24_MiB, 25e9);
  machine.file_read_rate = machine.file_write_rate = 3e9;
  machine.host = 16_MiB;
  std::size_t in_file = 0, in_host = 0;
  for (const OffloadInterval& interval : test::moves_of(LohanPolicy::plan_moving(iteration, machine, 5))) {
    ++(interval.to == Location::kFile ? in_file : in_host);
  }
  EXPECT_EQ(in_host, 2u);
  EXPECT_EQ(in_file, 3u);
}

}  // namespace
}  // namespace tessera
