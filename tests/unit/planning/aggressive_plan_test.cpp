#include "planning/aggressive_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "iterations.hpp"
#include "planning/farthest_intervals.hpp"
#include "planning/forecast.hpp"

namespace tessera {
namespace {

using test::kRate;

TEST(AggressivePlan, IsEmptyWithoutIntervalsWhereAllFits) {
  const Iteration iteration = test::stack(8, Bytes(100), 100);
  EXPECT_TRUE(aggressive_plan(iteration, test::machine_of(Bytes(800), kRate), {}).empty());
}

// A cycle: Belady's rule keeps as many as fit, different ones each time, and leaves no room to rotate.
TEST(AggressivePlan, AddsIntervalsWhenTheGivenOnesLeaveNoRoom) {
  test::IterationBuilder build;
  for (std::uint32_t i = 0; i < 8; ++i) build.run(Bytes(100));
  for (std::uint32_t i = 0; i < 8; ++i) build.step(100, {test::reads(i)});
  const Iteration iteration = build.done();
  const Machine machine = test::machine_of(Bytes(500), kRate);
  const OffloadPlan chosen = farthest_intervals(iteration, machine.device);
  const OffloadPlan plan = aggressive_plan(iteration, machine, chosen);
  EXPECT_EQ(plan.size(), 4u) << "four stay, and through the fifth place go the others";
  EXPECT_GT(plan.size(), chosen.size());
}

TEST(AggressivePlan, IsEmptyWhereTooManyWouldHaveToBeAdded) {
  const Iteration iteration = test::stack(40, Bytes(100), 100);
  EXPECT_TRUE(aggressive_plan(iteration, test::machine_of(Bytes(800), kRate), {}).empty());
}

TEST(AggressivePlan, HidesAllAtHalfTheMemoryWhereTheLinksAreFastEnough) {
  const Iteration iteration = test::stack(8, Bytes(100), 100);
  const Machine half = test::machine_of(Bytes(400), 2 * kRate);
  const OffloadPlan plan = aggressive_plan(iteration, half, farthest_intervals(iteration, half.device));
  EXPECT_FALSE(plan.empty());
  EXPECT_EQ(forecast(iteration, half, plan).stall, Nanoseconds());
  EXPECT_GT(forecast(iteration, half, {}).stall, Nanoseconds());
}

// Used in the first and in the last step; beside the large run in the middle it does not fit.
TEST(AggressivePlan, BringsBackAsSoonAsThereIsRoom) {
  test::IterationBuilder build;
  build.run(Bytes(100));
  for (std::uint32_t i = 1; i < 9; ++i) build.run(Bytes(i == 4 ? 150 : 10));
  build.step(100, {test::writes(0)});
  for (std::uint32_t i = 1; i < 9; ++i) build.step(100, {test::makes(i)});
  build.step(100, {test::writes(0)});
  const Iteration iteration = build.done();
  const Machine machine = test::machine_of(Bytes(200), kRate);
  const OffloadPlan chosen = farthest_intervals(iteration, machine.device);
  ASSERT_EQ(chosen.size(), 1u);
  const OffloadPlan plan = aggressive_plan(iteration, machine, chosen);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].gap.after, 0u);
  EXPECT_EQ(plan[0].gap.until, 9u);
  EXPECT_EQ(plan[0].back_at, 5u);
}

// Two runs are used in the first and the last step, and a large one between: the link fetches one after the other.
TEST(AggressivePlan, TheNextFetchBeginsWhenThePagesOfTheLastAreMapped) {
  test::IterationBuilder build;
  build.run(Bytes(100));
  build.run(Bytes(100));
  build.run(Bytes(250));
  build.step(100, {test::writes(0), test::writes(1)});
  for (int i = 1; i < 12; ++i) {
    if (i == 4) {
      build.step(100, {test::makes(2)});
    } else {
      build.step(100, {});
    }
  }
  build.step(100, {test::writes(0), test::writes(1)});
  Machine machine = test::machine_of(Bytes(300), kRate);
  const OffloadPlan chosen = farthest_intervals(build.done(), machine.device);
  ASSERT_EQ(chosen.size(), 2u);
  const auto begins = [&]() -> std::pair<std::uint32_t, std::uint32_t> {
    const OffloadPlan plan = aggressive_plan(build.done(), machine, chosen);
    EXPECT_EQ(plan.size(), 2u);
    return std::minmax(plan.front().back_at, plan.back().back_at);
  };
  const auto [first, second] = begins();
  EXPECT_EQ(second, first + 1);
  machine.mapping = Nanoseconds(300);
  EXPECT_EQ(begins(), std::pair(first, first + 4U));
}

// If the outbound link is the limit, waiting until room is needed wastes the time before.
TEST(AggressivePlan, IsFasterThanDemandWhenTheLinkIsTheBottleneck) {
  const Iteration iteration = test::stack(16, Bytes(100), 100);
  const Machine machine = test::machine_of(Bytes(800), kRate / 2);
  const OffloadPlan plan = aggressive_plan(iteration, machine, farthest_intervals(iteration, machine.device));
  EXPECT_LT(forecast(iteration, machine, plan).makespan.value() * 10,
            forecast(iteration, machine, {}).makespan.value() * 9);
}

// A part takes a proportional share of link time and room.
TEST(AggressivePlan, MovesAPartFasterThanTheWhole) {
  test::IterationBuilder build;
  build.run(64_MiB);
  for (std::uint32_t i = 1; i < 9; ++i) build.run(i == 4 ? 160_MiB : 8_MiB);
  build.step(1'000'000, {test::writes(0)});
  for (std::uint32_t i = 1; i < 9; ++i) build.step(1'000'000, {test::makes(i)});
  build.step(1'000'000, {test::writes(0)});
  const Iteration iteration = build.done();
  const Machine machine = test::machine_of(216_MiB, 20e9);  // 8 MiB beside the large run
  OffloadPlan chosen = farthest_intervals(iteration, machine.device);
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen[0].part, 8_MiB);
  EXPECT_EQ(aggressive_plan(iteration, machine, chosen)[0].part, 8_MiB);
  chosen[0].part = 6_MiB;
  EXPECT_TRUE(aggressive_plan(iteration, machine, chosen).empty()) << "it leaves a step without room";
  chosen[0].part = kWholeRun;
  EXPECT_EQ(aggressive_plan(iteration, machine, chosen)[0].part, 64_MiB);
}

TEST(AggressivePlan, ReleasesRoomAtTheFreeOfABlock) {
  test::IterationBuilder build;
  for (int i = 0; i < 4; ++i) build.run(Bytes(100));
  for (std::uint32_t i = 0; i < 4; ++i) build.step(100, {test::makes(i)});
  Iteration iteration = build.done();
  const Machine machine = test::machine_of(Bytes(200), kRate);
  EXPECT_TRUE(aggressive_plan(iteration, machine, {}).empty());
  iteration.runs[0].lingers = 2;  // three blocks are held in the third step
  iteration.runs[1].lingers = 1;
  const OffloadPlan plan = aggressive_plan(iteration, machine, farthest_intervals(iteration, machine.device));
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_LT(plan[0].gap.run, 2u);
}

TEST(AggressivePlan, IsOfGapsOfTheIterationEachOnceAndNoneOfPinnedRuns) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Iteration iteration = test::random_iteration(seed);
    const Machine machine = test::machine_of(test::all_bytes(iteration) * (40 + seed % 60) / 100, 1e9);
    const OffloadPlan plan = aggressive_plan(iteration, machine, farthest_intervals(iteration, machine.device));
    EXPECT_TRUE(test::are_own_gaps(iteration, plan)) << seed;
  }
}

}  // namespace
}  // namespace tessera
