#include "residency/pages/run_cost.hpp"

#include <algorithm>
#include <functional>
#include <random>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

CostlyRun costing(std::uint64_t number, std::uint64_t stalled, Bytes moved) {
  CostlyRun run{Address(number), 2_MiB, TagId(), false, {}};
  run.cost.stalls = stalled != 0 ? 1 : 0;
  run.cost.stalled = Nanoseconds(stalled);
  run.cost.moved[0] = moved;
  return run;
}

TEST(RunCost, WaitsCountBeforeBytes) {
  CostliestRuns costliest;
  costliest.offer(costing(1, 0, 9_MiB));
  costliest.offer(costing(2, 5, 0_B));
  costliest.offer(costing(3, 5, 1_MiB));
  costliest.offer(costing(4, 0, 0_B));
  ASSERT_EQ(costliest.runs().size(), 3U) << "what cost nothing is no matter";
  EXPECT_EQ(costliest.runs()[0].address, Address(3));
  EXPECT_EQ(costliest.runs()[1].address, Address(2));
  EXPECT_EQ(costliest.runs()[2].address, Address(1));
}

TEST(RunCost, TheCostliestOfManyAreKept) {
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> costs;
  CostliestRuns costliest;
  for (std::uint64_t i = 0; i < 500; ++i) {
    costs.push_back(1 + random() % 10'000);
    costliest.offer(costing(i, costs.back(), 0_B));
  }
  std::ranges::sort(costs, std::greater());
  ASSERT_EQ(costliest.runs().size(), CostliestRuns::kMost);
  for (std::size_t i = 0; i < CostliestRuns::kMost; ++i) {
    EXPECT_EQ(costliest.runs()[i].cost.stalled, Nanoseconds(costs[i]));
  }
}

TEST(RunCost, KeepsTheCostOfARemovedRun) {
  ResidencyMachine machine;
  auto* run = machine.add();
  auto* other = machine.add();
  const Address address = run->address;
  for (std::uint64_t i = 0; i < 3; ++i) {  // other bytes each time, otherwise no copy is needed
    ASSERT_OK(machine.write(run, i));
    ASSERT_OK(machine.evict(run));
  }
  ASSERT_OK(machine.write(other, 1));
  ASSERT_OK(machine.evict(other));
  ASSERT_OK(machine.residency().runs().remove(run));
  const std::vector<CostlyRun> costs = machine.residency().figures().costs();
  ASSERT_EQ(costs.size(), 2U);
  const CostlyRun& first = costs[0];
  EXPECT_EQ(first.address, address);
  EXPECT_TRUE(first.gone);
  EXPECT_EQ(first.cost.moved[static_cast<std::size_t>(Link::kOut)], 6_MiB);
  EXPECT_EQ(first.cost.moved[static_cast<std::size_t>(Link::kIn)], 4_MiB);
  EXPECT_FALSE(costs[1].gone);
}

}  // namespace
}  // namespace tessera
