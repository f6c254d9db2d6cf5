#include "learn/lent_absences.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"
#include "learn/forecast.hpp"
#include "learn/prompt_plan.hpp"

namespace tessera {
namespace {

// Absences of layers that are used forwards and backwards: the first is away longest.
AbsencePlan all_away(const Iteration& iteration) {
  AbsencePlan plan;
  for (const Gap& gap : find_gaps(iteration)) {
    if (!gap.dead) plan.push_back({.gap = gap, .back_at = gap.until});
  }
  return plan;
}

Machine lent(Bytes device, Bytes peer, double peer_rate = 4 * test::kRate) {
  Machine machine = test::machine_of(device, test::kRate);
  machine.peer = peer;
  machine.peer_rate = peer_rate;
  return machine;
}

std::vector<std::uint32_t> with_peer(const AbsencePlan& plan) {
  std::vector<std::uint32_t> runs;
  for (const Absence& absence : plan) {
    if (absence.to == Away::kPeer) runs.push_back(absence.gap.run);
  }
  std::ranges::sort(runs);
  return runs;
}

TEST(LentAbsences, WhoIsBackSoonestIsWithThePeer) {
  const Iteration iteration = test::stack(6, Bytes(100), 100);
  const AbsencePlan plan = spend_with_peer(iteration, lent(Bytes(200), Bytes(250)), all_away(iteration));
  EXPECT_EQ(with_peer(plan), (std::vector<std::uint32_t>{4, 5}));
}

TEST(LentAbsences, WhatOneGivesBackServesTheNext) {
  test::IterationBuilder build;
  for (std::uint32_t i = 0; i < 3; ++i) build.run(Bytes(100));
  for (std::uint32_t i = 0; i < 3; ++i) {
    build.step(100, {test::makes(i)});
    build.step(100, {});
    build.step(100, {test::reads(i)});
  }
  const Iteration iteration = build.done();
  EXPECT_EQ(with_peer(spend_with_peer(iteration, lent(Bytes(100), Bytes(100)), all_away(iteration))).size(), 3U);
}

TEST(LentAbsences, TheSumOfThoseThatAreAwayAtOnceIsNeverMoreThanIsLent) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Iteration iteration = test::random_iteration(seed);
    const Machine machine = lent(64_MiB, 40_MiB);
    const AbsencePlan plan = spend_with_peer(iteration, machine, all_away(iteration));
    const std::size_t count = iteration.steps.size();
    std::vector<Bytes> there(count);
    for (const Absence& absence : plan) {
      if (absence.to != Away::kPeer) continue;
      const std::size_t end = absence.gap.until + (absence.gap.wraps ? count : 0);
      for (std::size_t step = absence.gap.after; step < end; ++step) {
        there[step % count] += iteration.runs[absence.gap.run].bytes;
      }
    }
    EXPECT_LE(std::ranges::max(there), machine.peer) << "seed " << seed;
  }
}

TEST(LentAbsences, NothingChangesWhereNobodyLendsOrBytesAreRemade) {
  const Iteration iteration = test::stack(6, Bytes(100), 100);
  EXPECT_TRUE(with_peer(spend_with_peer(iteration, test::machine_of(Bytes(200), test::kRate), all_away(iteration)))
                  .empty());
  AbsencePlan remade = all_away(iteration);
  for (Absence& absence : remade) absence.to = Away::kRegenerated;
  EXPECT_TRUE(with_peer(spend_with_peer(iteration, lent(Bytes(200), Bytes(600)), remade)).empty());
}

// Eight layers at a quarter of their memory: a link of a byte per nanosecond carries a layer in a step.
TEST(LentAbsences, APromptPlanCountsOnBothLinks) {
  const Iteration iteration = test::stack(8, Bytes(100), 50);
  const auto stall = [&](const Machine& machine) {
    const AbsencePlan chosen = spend_with_peer(iteration, machine, all_away(iteration));
    const AbsencePlan plan = prompt_plan(iteration, machine, chosen);
    EXPECT_FALSE(plan.empty());
    return forecast(iteration, machine, plan).stall;
  };
  const Nanoseconds alone = stall(test::machine_of(Bytes(200), test::kRate));
  const Nanoseconds helped = stall(lent(Bytes(200), Bytes(400)));
  EXPECT_LT(helped, alone);
}

}  // namespace
}  // namespace tessera
