#include "learn/excess_cover.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "learn/forecast.hpp"

namespace tessera {
namespace {

constexpr double kRate = 1e9;  // 1 byte takes 1 ns

Iteration forward_and_backward(std::uint32_t layers, Bytes bytes, Nanoseconds duration) {
  Iteration iteration;
  for (std::uint32_t i = 0; i < 2 * layers; ++i) {
    const bool forward = i < layers;
    const std::uint32_t run = forward ? i : 2 * layers - 1 - i;
    iteration.uses.push_back({.run = run, .writes = forward, .fresh = forward});
    iteration.steps.push_back({.duration = duration, .first_use = i, .end_use = i + 1});
  }
  iteration.runs.assign(layers, {.bytes = bytes});
  return iteration;
}

Machine machine(Bytes device, double rate = kRate) {
  return {.device = device, .host = 1_GiB, .out_rate = rate, .in_rate = rate};
}

std::size_t absences(const AbsencePlan& plan) {
  return static_cast<std::size_t>(std::count_if(
      plan.begin(), plan.end(), [](const Absence& absence) { return !absence.gap.dead; }));
}

class ExcessCover : public ::testing::TestWithParam<GapOrder> {};

TEST_P(ExcessCover, SendsNobodyAwayWhereAllFits) {
  const Iteration iteration = forward_and_backward(8, Bytes(100), Nanoseconds(100));
  EXPECT_EQ(absences(cover_excess(iteration, machine(Bytes(800)), GetParam())), 0u);
}

TEST_P(ExcessCover, HidesAllAtHalfTheMemoryWhereTheLinksAreFastEnough) {
  const Iteration iteration = forward_and_backward(8, Bytes(100), Nanoseconds(100));
  const AbsencePlan plan = cover_excess(iteration, machine(Bytes(400), 2 * kRate), GetParam());
  const Forecast result = forecast(iteration, machine(Bytes(400), 2 * kRate), plan);
  EXPECT_GT(absences(plan), 0u);
  EXPECT_EQ(result.stall, Nanoseconds());
}

TEST_P(ExcessCover, IsNoWorseThanNoPlanWhereNothingCanBeHidden) {
  const Iteration iteration = forward_and_backward(8, Bytes(100), Nanoseconds(10));
  const Machine small = machine(Bytes(300));
  const Forecast planned = forecast(iteration, small, cover_excess(iteration, small, GetParam()));
  EXPECT_LE(planned.makespan, forecast(iteration, small, {}).makespan);
}

TEST_P(ExcessCover, LeavesPinnedRunsWhereTheyAre) {
  Iteration iteration = forward_and_backward(8, Bytes(100), Nanoseconds(100));
  for (IterationRun& run : iteration.runs) run.pinned = true;
  EXPECT_EQ(absences(cover_excess(iteration, machine(Bytes(400)), GetParam())), 0u);
}

INSTANTIATE_TEST_SUITE_P(Orders, ExcessCover,
                         ::testing::Values(GapOrder::kReliefPerCopy, GapOrder::kLongest,
                                           GapOrder::kLargest));

}  // namespace
}  // namespace tessera
