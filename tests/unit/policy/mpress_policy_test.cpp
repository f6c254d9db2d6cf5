#include "policy/mpress_policy.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"
#include "planning/forecast.hpp"

namespace tessera {
namespace {

Machine with_peer(Bytes device, double host_rate, Bytes peer, double peer_rate) {
  Machine machine = test::machine_of(device, host_rate);
  machine.peer = peer;
  machine.peer_rate = peer_rate;
  return machine;
}

TEST(MpressPolicy, OffloadsToThePeerWhenOnlyThatLinkHidesIt) {
  // 8 MiB: 8 ms over the host's link, 0.2 ms to the peer. The longest gap is 18 ms, the others are shorter.
  const Iteration iteration = test::stack(10, 8_MiB, 1'000'000);
  const OffloadPlan plan = test::moves_of(MpressPolicy().plan(iteration, with_peer(40_MiB, 1.05e9, 1_GiB, 50e9)));
  ASSERT_FALSE(plan.empty());
  for (const OffloadInterval& interval : plan) {
    EXPECT_EQ(interval.to, interval.gap.run == 0 ? Location::kHost : Location::kPeer) << interval.gap.run;
  }
}

TEST(MpressPolicy, ThePeerLendsNoMoreThanItHas) {
  const Iteration iteration = test::stack(10, 8_MiB, 1'000'000);
  const OffloadPlan plan = MpressPolicy().plan(iteration, with_peer(24_MiB, 0.1e9, 16_MiB, 50e9));
  Bytes lent;
  for (const OffloadInterval& interval : plan) lent += interval.to == Location::kPeer ? 8_MiB : 0_B;
  EXPECT_EQ(lent, 16_MiB);
}

// Twelve runs have the longest gaps, except when a step is over; all twelve would fill the link for the whole
// iteration.
TEST(MpressPolicy, UselessIntervalsTakeNoHostLinkTime) {
  test::IterationBuilder build;
  std::vector<std::uint32_t> idle;
  for (int i = 0; i < 12; ++i) idle.push_back(build.run(16_MiB));
  const std::uint32_t helps = build.run(16_MiB), passing = build.run(8_MiB);
  for (int step = 0; step < 20; ++step) {
    std::vector<RunUse> uses;
    if (step == 0 || step == 15 || step == 19) {
      for (const std::uint32_t run : idle) uses.push_back(test::reads(run));
    }
    if (step == 6 || step == 19) uses.push_back(test::reads(helps));
    if (step == 16) uses.push_back(test::makes(passing));
    build.step(10'000'000, uses);
  }
  const OffloadPlan plan = test::moves_of(MpressPolicy().plan(build.done(), with_peer(208_MiB, 1e9, 1_GiB, 50e9)));
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].gap.run, helps);
  EXPECT_EQ(plan[0].to, Location::kHost);
}

TEST(MpressPolicy, WithoutAPeerThereIsTheHost) {
  const Iteration iteration = test::stack(10, 8_MiB, 1'000'000);
  const OffloadPlan plan = test::moves_of(MpressPolicy().plan(iteration, test::machine_of(40_MiB, 1e9)));
  ASSERT_FALSE(plan.empty());
  for (const OffloadInterval& interval : plan) EXPECT_EQ(interval.to, Location::kHost);
}

TEST(MpressPolicy, PeerAndHostLinksOverlap) {
  const Iteration iteration = test::stack(10, 8_MiB, 1'000'000);
  const Machine alone = test::machine_of(40_MiB, 2e9);
  const Machine helped = with_peer(40_MiB, 2e9, 1_GiB, 50e9);
  EXPECT_LT(forecast(iteration, helped, MpressPolicy().plan(iteration, helped)).makespan,
            forecast(iteration, alone, MpressPolicy().plan(iteration, alone)).makespan);
}

}  // namespace
}  // namespace tessera
