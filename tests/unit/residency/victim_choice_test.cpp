#include "residency/eviction/victim_choice.hpp"

#include "residency_fixture.hpp"

namespace tessera {
namespace {

std::uint64_t fetches_of_a_scan(const std::string& policy) {
  ResidencyMachine machine({.device = 20_MiB, .policy = policy, .options = {.low_percent = 0, .high_percent = 0}});
  const auto runs = machine.add_many(15);
  for (std::uint64_t round = 0; round < 10; ++round) {
    for (auto* run : runs) {
      EXPECT_OK(round == 0 ? machine.write(run, 1) : machine.check(run, 1));
      EXPECT_OK(machine.sim().synchronize(DeviceId(0)));
      machine.residency().advance();
    }
  }
  return machine.residency().figures().stats().fetches;
}

TEST(VictimChoice, ACyclicScanKeepsHitsWithRecencyAndNoneWithLru) {
  EXPECT_EQ(fetches_of_a_scan("lru"), 9U * 15);
  EXPECT_LT(fetches_of_a_scan("recency"), 9U * 15 * 2 / 3);
}

TEST(VictimChoice, ADeadRunGoesBeforeThoseThatLiveAndAPinnedOneNever) {
  ResidencyMachine machine({.device = 8_MiB, .policy = "lru"});
  const auto runs = machine.add_many(4);
  for (auto* run : runs) ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.settle());
  ASSERT_OK(machine.residency().pins().pin(runs[0]));
  runs[2]->live.store(0);
  auto* const first = machine.add();
  ASSERT_OK(machine.write(first, 1));
  EXPECT_EQ(runs[2]->bytes_in(PageState::kResident), Bytes());
  auto* const second = machine.add();
  ASSERT_OK(machine.write(second, 1));
  EXPECT_EQ(runs[1]->bytes_in(PageState::kResident), Bytes()) << "the least recently used of those that may go";
  EXPECT_EQ(runs[0]->bytes_in(PageState::kResident), kBasePage);
  ASSERT_OK(machine.residency().pins().unpin(runs[0]));
}

}  // namespace
}  // namespace tessera
