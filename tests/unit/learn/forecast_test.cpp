#include "learn/forecast.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// 1 byte takes 1 ns on either link.
constexpr double kRate = 1e9;

// `layers` activations, written forwards and read backwards, each in a step of `duration`.
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

Machine machine(Bytes device) {
  return {.device = device, .host = 1_GiB, .out_rate = kRate, .in_rate = kRate,
          .file_write_rate = kRate, .file_read_rate = kRate};
}

TEST(Forecast, TakesTheTimeOfTheStepsWhereAllFits) {
  const Iteration iteration = forward_and_backward(4, Bytes(100), Nanoseconds(100));
  const Forecast result = forecast(iteration, machine(Bytes(400)), {});
  EXPECT_TRUE(result.possible);
  EXPECT_EQ(result.makespan, Nanoseconds(800));
  EXPECT_EQ(result.stall, Nanoseconds());
  EXPECT_EQ(result.peak, Bytes(400));
  EXPECT_EQ(result.out + result.in, Bytes());
}

TEST(Forecast, SaysWhenAStepAloneDoesNotFit) {
  const Iteration iteration = forward_and_backward(4, Bytes(100), Nanoseconds(100));
  EXPECT_FALSE(forecast(iteration, machine(Bytes(99)), {}).possible);
}

TEST(Forecast, StallsForWhatIsFetchedOnDemand) {
  const Iteration iteration = forward_and_backward(4, Bytes(100), Nanoseconds(100));
  const Forecast result = forecast(iteration, machine(Bytes(200)), {});
  EXPECT_TRUE(result.possible);
  EXPECT_GT(result.stall, Nanoseconds());
  EXPECT_LE(result.peak, Bytes(200));
}

TEST(Forecast, HidesAnAbsenceWhoseGapIsLongEnough) {
  const Iteration iteration = forward_and_backward(4, Bytes(100), Nanoseconds(100));
  AbsencePlan plan;
  for (const Gap& gap : find_gaps(iteration)) {
    // Layer 0 is away from the end of step 0 to step 7: out in step 1, in during step 6.
    if (gap.run == 0 && !gap.dead) plan.push_back({.gap = gap, .back_at = 6});
    if (gap.dead) plan.push_back({.gap = gap, .back_at = gap.until});
  }
  const Forecast result = forecast(iteration, machine(Bytes(300)), plan);
  EXPECT_EQ(result.makespan, Nanoseconds(800));
  EXPECT_EQ(result.out, Bytes(100));
  EXPECT_EQ(result.in, Bytes(100));
  EXPECT_EQ(result.late, 0u);
  EXPECT_EQ(result.peak, Bytes(300));
}

TEST(Forecast, CountsTheWaitForATriggerThatIsTooLate) {
  const Iteration iteration = forward_and_backward(2, Bytes(100), Nanoseconds(100));
  AbsencePlan plan;
  for (const Gap& gap : find_gaps(iteration)) {
    if (gap.run == 0 && !gap.dead) plan.push_back({.gap = gap, .back_at = gap.until});
  }
  const Forecast result = forecast(iteration, machine(Bytes(200)), plan);
  // Out while step 1 runs, in on demand: step 3 waits for all of it.
  EXPECT_EQ(result.stall, Nanoseconds(100));
  EXPECT_EQ(result.late, 1u);
}

TEST(Forecast, CopiesARunThatIsOnlyReadOutOnce) {
  Iteration iteration;  // a weight, used at both ends of an iteration
  iteration.runs = {{.bytes = Bytes(100)}};
  iteration.uses = {{.run = 0}};
  iteration.steps = {{.duration = Nanoseconds(100), .first_use = 0, .end_use = 1},
                     {.duration = Nanoseconds(1000), .first_use = 1, .end_use = 1}};
  const std::vector<Gap> gaps = find_gaps(iteration);
  const Forecast result = forecast(iteration, machine(Bytes(100)), {{.gap = gaps[0], .back_at = 1}});
  EXPECT_EQ(result.out, Bytes());
}

TEST(Forecast, RemakesWhatIsRegeneratedWithoutTheLinks) {
  Iteration iteration = forward_and_backward(2, Bytes(100), Nanoseconds(100));
  iteration.runs[0].regenerate = Nanoseconds(30);
  AbsencePlan plan;
  for (const Gap& gap : find_gaps(iteration)) {
    if (gap.run == 0 && !gap.dead) {
      plan.push_back({.gap = gap, .back_at = gap.until, .to = Away::kRegenerated});
    }
  }
  const Forecast result = forecast(iteration, machine(Bytes(200)), plan);
  EXPECT_EQ(result.out + result.in, Bytes());
  EXPECT_EQ(result.stall, Nanoseconds(30));
}

TEST(Forecast, WhatHasLeftIsNotInThePeakEvenWhereThereIsRoom) {
  const Iteration iteration = forward_and_backward(4, Bytes(100), Nanoseconds(100));
  AbsencePlan plan;
  for (const Gap& gap : find_gaps(iteration)) {
    if (gap.dead || gap.run == 0) plan.push_back({.gap = gap, .back_at = gap.dead ? gap.until : 6});
  }
  EXPECT_EQ(forecast(iteration, machine(Bytes(4000)), plan).peak, Bytes(300));
}

TEST(Forecast, APeersLinksDoNotWaitForTheHosts) {
  const Iteration iteration = forward_and_backward(4, Bytes(100), Nanoseconds(100));
  Machine two = machine(Bytes(200));
  two.peer = Bytes(1000);
  two.peer_rate = 10 * kRate;
  const auto stall_to = [&](Away to) {
    AbsencePlan plan;
    for (const Gap& gap : find_gaps(iteration)) {
      if (gap.dead) plan.push_back({.gap = gap, .back_at = gap.until});
      if (!gap.dead && gap.run < 2) plan.push_back({.gap = gap, .back_at = 5, .to = to});
    }
    return forecast(iteration, two, plan).stall;
  };
  EXPECT_LT(stall_to(Away::kPeer), stall_to(Away::kHost));
}

}  // namespace
}  // namespace tessera
