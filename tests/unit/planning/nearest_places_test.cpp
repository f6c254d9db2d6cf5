#include "planning/nearest_places.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"
#include "planning/aggressive_plan.hpp"
#include "planning/forecast.hpp"

namespace tessera {
namespace {

// Offload intervals of layers used in a forward and a backward pass: the first is the longest.
OffloadPlan all_away(const Iteration& iteration) {
  OffloadPlan plan;
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

Machine short_of(Bytes host) {
  Machine machine = test::machine_of(Bytes(200), test::kRate);
  machine.host = host;
  machine.file = Bytes(10'000);
  machine.file_write_rate = machine.file_read_rate = test::kRate / 4;
  return machine;
}

std::vector<std::uint32_t> runs_at(const OffloadPlan& plan, Location to) {
  std::vector<std::uint32_t> runs;
  for (const OffloadInterval& interval : plan) {
    if (interval.to == to) runs.push_back(interval.gap.run);
  }
  std::ranges::sort(runs);
  return runs;
}
std::vector<std::uint32_t> with_peer(const OffloadPlan& plan) { return runs_at(plan, Location::kPeer); }

TEST(NearestPlaces, RunsNeededSoonestGoToThePeer) {
  const Iteration iteration = test::stack(6, Bytes(100), 100);
  const OffloadPlan plan = spend_with_peer(iteration, lent(Bytes(200), Bytes(250)), all_away(iteration));
  EXPECT_EQ(with_peer(plan), (std::vector<std::uint32_t>{4, 5}));
}

TEST(NearestPlaces, ReusesReleasedPeerMemory) {
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

TEST(NearestPlaces, NeverExceedsThePeerMemory) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Iteration iteration = test::random_iteration(seed);
    const Machine machine = lent(64_MiB, 40_MiB);
    const OffloadPlan plan = spend_with_peer(iteration, machine, all_away(iteration));
    const std::size_t count = iteration.steps.size();
    std::vector<Bytes> there(count);
    for (const OffloadInterval& interval : plan) {
      if (interval.to != Location::kPeer) continue;
      const std::size_t end = interval.gap.until + (interval.gap.wraps ? count : 0);
      for (std::size_t step = interval.gap.after; step < end; ++step) {
        there[step % count] += iteration.runs[interval.gap.run].bytes;
      }
    }
    EXPECT_LE(std::ranges::max(there), machine.peer) << "seed " << seed;
  }
}

TEST(NearestPlaces, UsesNoPeerWithoutOneOrForRecomputedRuns) {
  const Iteration iteration = test::stack(6, Bytes(100), 100);
  EXPECT_TRUE(
      with_peer(spend_with_peer(iteration, test::machine_of(Bytes(200), test::kRate), all_away(iteration))).empty());
  OffloadPlan recomputed = all_away(iteration);
  for (OffloadInterval& interval : recomputed) interval.to = Location::kNowhere;
  EXPECT_TRUE(with_peer(spend_with_peer(iteration, lent(Bytes(200), Bytes(600)), recomputed)).empty());
}

TEST(NearestPlaces, RunsNeededLatestGoToTheFile) {
  const Iteration iteration = test::stack(6, Bytes(100), 100);
  const OffloadPlan plan = spend_in_file(iteration, short_of(Bytes(250)), all_away(iteration));
  EXPECT_EQ(runs_at(plan, Location::kHost), (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(runs_at(plan, Location::kFile), (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(NearestPlaces, NeedsTheFileWhenDeviceAndHostAreTooSmall) {
  Iteration iteration = test::stack(6, Bytes(100), 100);
  EXPECT_TRUE(needs_file(iteration, short_of(Bytes(399))));
  EXPECT_FALSE(needs_file(iteration, short_of(Bytes(400))));
  iteration.others.push_back({.bytes = Bytes(50)});
  EXPECT_TRUE(needs_file(iteration, short_of(Bytes(400))));
  EXPECT_FALSE(needs_file(iteration, test::machine_of(Bytes(100), test::kRate))) << "there is none";
}

TEST(NearestPlaces, UsesNoFileWithHostRoomOrWithoutAFile) {
  const Iteration iteration = test::stack(6, Bytes(100), 100);
  EXPECT_TRUE(runs_at(spend_in_file(iteration, short_of(Bytes(600)), all_away(iteration)), Location::kFile).empty());
  Machine alone = short_of(Bytes(250));
  alone.file_read_rate = 0;
  EXPECT_TRUE(runs_at(spend_in_file(iteration, alone, all_away(iteration)), Location::kFile).empty());
}

TEST(NearestPlaces, RunsOnThePeerAreNotInTheFile) {
  const Iteration iteration = test::stack(6, Bytes(100), 100);
  Machine machine = short_of(Bytes(200));
  machine.peer = Bytes(200), machine.peer_rate = test::kRate;
  const OffloadPlan plan = spend_in_file(iteration, machine, spend_with_peer(iteration, machine, all_away(iteration)));
  EXPECT_EQ(with_peer(plan), (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(runs_at(plan, Location::kHost), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(runs_at(plan, Location::kFile), (std::vector<std::uint32_t>{0, 1}));
}

// A copy from the file takes four steps, and the copies are sequential.
TEST(NearestPlaces, AnAggressivePlanQueuesFileReadsInOrder) {
  const Iteration iteration = test::stack(8, Bytes(100), 100);
  Machine machine = short_of(Bytes(1'000));
  machine.device = Bytes(500);
  OffloadPlan away = all_away(iteration);
  std::erase_if(away, [](const OffloadInterval& interval) { return interval.gap.run > 3; });
  const auto back_of_first = [&](Location to) {
    for (OffloadInterval& interval : away) interval.to = to;
    for (const OffloadInterval& interval : aggressive_plan(iteration, machine, away)) {
      if (interval.gap.run == 0) return interval.back_at;
    }
    ADD_FAILURE() << "it stays";
    return 0u;
  };
  EXPECT_GT(back_of_first(Location::kFile), back_of_first(Location::kHost));
}

// Eight layers with memory for a quarter of them: at a byte per nanosecond a link copies a layer in a step.
TEST(NearestPlaces, AnAggressivePlanUsesBothLinks) {
  const Iteration iteration = test::stack(8, Bytes(100), 50);
  const auto stall = [&](const Machine& machine) {
    const OffloadPlan chosen = spend_with_peer(iteration, machine, all_away(iteration));
    const OffloadPlan plan = aggressive_plan(iteration, machine, chosen);
    EXPECT_FALSE(plan.empty());
    return forecast(iteration, machine, plan).stall;
  };
  const Nanoseconds alone = stall(test::machine_of(Bytes(200), test::kRate));
  const Nanoseconds helped = stall(lent(Bytes(200), Bytes(400)));
  EXPECT_LT(helped, alone);
}

}  // namespace
}  // namespace tessera
