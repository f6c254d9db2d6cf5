#include "api/profile_figures.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

CostlyRun run_at(std::uint64_t address, std::uint64_t stalls, Bytes in, bool gone = false) {
  CostlyRun run{Address(address), 2_MiB, TagId(), gone, {}};
  run.cost.stalls = stalls;
  run.cost.stalled = Nanoseconds(10 * stalls);
  run.cost.moved[static_cast<std::size_t>(Link::kIn)] = in;
  return run;
}

TEST(ProfileFigures, CountersHaveTheirGrowthAndSizesStay) {
  StatsSnapshot before, now;
  before.totals.allocations = 5, now.totals.allocations = 7;
  before.totals.stall_ns = 100, now.totals.stall_ns = 350;
  before.totals.live_bytes = 10, now.totals.live_bytes = 30;
  before.totals.device_peak = 64, now.totals.device_peak = 64;
  const tessera_stats since = stats_since(before, now).totals;
  EXPECT_EQ(since.allocations, 2u);
  EXPECT_EQ(since.stall_ns, 250u);
  EXPECT_EQ(since.live_bytes, 30u);
  EXPECT_EQ(since.device_peak, 64u);
}

TEST(ProfileFigures, OnlyCausesThatOccurredSinceAreLeft) {
  StatsSnapshot before, now;
  before.causes = {{"work", 2, Nanoseconds(20)}, {"copy_out", 1, Nanoseconds(5)}};
  now.causes = {{"copy_out", 4, Nanoseconds(50)}, {"mapping", 3, Nanoseconds(9)}, {"work", 2, Nanoseconds(20)}};
  const auto causes = stats_since(before, now).causes;
  ASSERT_EQ(causes.size(), 2u);
  EXPECT_EQ(causes[0].name, "copy_out");
  EXPECT_EQ(causes[0].stalls, 3u);
  EXPECT_EQ(causes[0].time, Nanoseconds(45));
  EXPECT_EQ(causes[1].name, "mapping");
  EXPECT_EQ(causes[1].time, Nanoseconds(9));
}

TEST(ProfileFigures, CostsAreThoseSince) {
  const std::vector<CostlyRun> before = {run_at(1, 9, 8_MiB), run_at(2, 1, 2_MiB), run_at(3, 5, 1_MiB)};
  const std::vector<CostlyRun> now = {run_at(1, 9, 8_MiB), run_at(2, 4, 6_MiB), run_at(3, 5, 1_MiB, true),
                                      run_at(4, 1, 2_MiB)};
  const CostliestRuns since = costs_since(before, now);
  ASSERT_EQ(since.runs().size(), 2u);
  EXPECT_EQ(since.runs()[0].address, Address(2));
  EXPECT_EQ(since.runs()[0].cost.stalls, 3u);
  EXPECT_EQ(since.runs()[0].cost.stalled, Nanoseconds(30));
  EXPECT_EQ(since.runs()[0].cost.all_moved(), 4_MiB);
  EXPECT_EQ(since.runs()[1].address, Address(4));
}

TEST(ProfileFigures, ARunThatTookTheAddressOfAnotherHasItsOwnCosts) {
  const CostliestRuns since = costs_since(std::vector{run_at(1, 9, 8_MiB)}, std::vector{run_at(1, 2, 9_MiB)});
  ASSERT_EQ(since.runs().size(), 1u);
  EXPECT_EQ(since.runs()[0].cost.stalls, 2u);
  EXPECT_EQ(since.runs()[0].cost.all_moved(), 9_MiB);
}

TEST(ProfileFigures, RunsThatWereFreedBeforeCostNothingSince) {
  const std::vector<CostlyRun> before = {run_at(1, 9, 8_MiB, true), run_at(1, 7, 8_MiB, true)};
  std::vector<CostlyRun> now = before;
  now.push_back(run_at(1, 3, 4_MiB, true));
  const CostliestRuns since = costs_since(before, now);
  ASSERT_EQ(since.runs().size(), 1u);
  EXPECT_EQ(since.runs()[0].cost.stalls, 3u);
}

TEST(ProfileFigures, PoliciesBeginWithTheActiveOne) {
  const std::vector<PolicyTurn> turns = {
      {Nanoseconds(0), "lru"}, {Nanoseconds(10), "auto"}, {Nanoseconds(30), "recency"}};
  const auto since = turns_since(Nanoseconds(20), turns);
  ASSERT_EQ(since.size(), 2u);
  EXPECT_EQ(since[0].name, "auto");
  EXPECT_EQ(since[0].from, Nanoseconds(0));
  EXPECT_EQ(since[1].name, "recency");
  EXPECT_EQ(since[1].from, Nanoseconds(10));
}

}  // namespace
}  // namespace tessera
