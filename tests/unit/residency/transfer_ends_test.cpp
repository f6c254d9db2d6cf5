#include "residency/eviction/transfer_ends.hpp"

#include <map>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(TransferEnds, HasWorkOnlyWhileAPageMoves) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  EXPECT_FALSE(machine.residency().has_work());
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.prefetch(run));
  EXPECT_TRUE(machine.residency().has_work());
  ASSERT_OK(machine.residency().drain());
  EXPECT_FALSE(machine.residency().has_work());
  EXPECT_EQ(run->missing.load(), 0U);
}

TEST(TransferEnds, AdvanceFinishesCompletedCopies) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.prefetch(run));
  ASSERT_OK(machine.sim().synchronize(DeviceId(0)));
  machine.residency().advance();
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(machine.residency().figures().stats().stalls, 0U);
}

TEST(TransferEnds, QueriesNoCopyAfterAnUnfinishedOne) {
  // A page takes 50 ms, so all of them are in flight during this check.
  ResidencyMachine machine({.sim = {.memory = 64_MiB, .inbound = {40'000'000, {}}}});
  auto* run = machine.add({0, 7});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.prefetch(run));
  const std::uint64_t before = machine.fault().calls(DriverCall::kQueryEvent);
  machine.residency().advance();
  EXPECT_LT(machine.fault().calls(DriverCall::kQueryEvent) - before, 7U);
  EXPECT_OK(machine.check(run, 1));
}

TEST(TransferEnds, WorkWaitsOnlyForTheFetchesOfItsOwnRuns) {
  // A page takes 50 ms, so the second run arrives long after the first.
  ResidencyMachine machine({.sim = {.memory = 64_MiB, .inbound = {40'000'000, {}}}});
  auto *wanted = machine.add(), *later = machine.add({0, 6});
  ASSERT_OK(machine.write(wanted, 1));
  ASSERT_OK(machine.write(later, 2));
  ASSERT_OK(machine.evict(wanted));
  ASSERT_OK(machine.evict(later));
  ASSERT_OK(machine.prefetch(wanted));
  ASSERT_OK(machine.prefetch(later));
  ASSERT_OK(machine.check(wanted, 1));
  ASSERT_OK(machine.sim().synchronize(StreamId(0)));
  machine.residency().advance();
  EXPECT_TRUE(later->is_fetching());
  ASSERT_OK(machine.check(later, 2));
}

TEST(TransferEnds, ACompletedPrefetchDoesNotRefetchAnEvictedRun) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.prefetch(run));
  ASSERT_OK(machine.residency().drain());
  ASSERT_OK(machine.write(run, 2));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.residency().drain());
  EXPECT_EQ(run->missing.load(), 1U);
}

TEST(TransferEnds, TrimReturnsSpareFramesToTheDriver) {
  ResidencyMachine machine;
  auto* run = machine.add({0, 4});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  EXPECT_EQ(machine.tiers().device.usage().spare, 8_MiB);
  machine.residency().trim();
  EXPECT_EQ(machine.tiers().device.usage().spare, Bytes());
  EXPECT_OK(machine.check(run, 1));
}

TEST(TransferEnds, MovesAreInTheEventLog) {
  ResidencyMachine machine({.host = 0_B, .file = 32_MiB});
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.residency().drain());
  ASSERT_OK(machine.check(run, 1));
  ASSERT_OK(machine.residency().drain());
  std::map<EventKind, int> seen;
  for (const Event& event : machine.log().kept().events) {
    ++seen[event.kind];
    EXPECT_LE(event.begin, event.end);
    EXPECT_EQ(event.address, run->address);
  }
  for (EventKind kind : {EventKind::kEvict, EventKind::kFileWrite, EventKind::kFileRead, EventKind::kFetch}) {
    EXPECT_EQ(seen[kind], 1) << name_of(kind);
  }
}

TEST(TransferEnds, PagesOfOneRunCopiedAtDifferentTimesKeepTheirNewestBytes) {
  // A reserve of one page, so that the pages of a run are evicted one by one, with writes between.
  ResidencyMachine machine({.device = 8_MiB, .host = 0_B, .staging = 2_MiB, .file = 64_MiB});
  auto* run = machine.add({0, 3});
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_OK(machine.write(run, i));
    ASSERT_OK(machine.touch({machine.add()}));
    ASSERT_OK(machine.write(run, i + 100));
    ASSERT_OK(machine.evict(run));
    ASSERT_OK(machine.check(run, i + 100));
  }
}

// ---- pages evicted together are unmapped together -----------------------------------------------

std::uint64_t unmaps(ResidencyMachine& machine) { return machine.fault().calls(DriverCall::kUnmap); }

TEST(TransferEnds, ARunThatIsEvictedIsUnmappedInOneCall) {
  ResidencyMachine machine;
  auto* run = machine.add({0, 8});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  EXPECT_EQ(unmaps(machine), 1U);
  ASSERT_OK(machine.check(run, 1));
}

TEST(TransferEnds, EvictsAPartOfARunInOneCall) {
  ResidencyMachine machine;
  auto* first = machine.add({0, 8});
  auto* second = machine.add({0, 3});
  ASSERT_OK(machine.write(first, 1));
  ASSERT_OK(machine.write(second, 2));
  EXPECT_EQ(unmaps(machine), 1U);
  EXPECT_EQ(first->missing.load(), 3U) << "no more than is needed";
  ASSERT_OK(machine.check(first, 1));
  ASSERT_OK(machine.check(second, 2));
}

TEST(TransferEnds, EvictsCleanPagesInOneCall) {
  ResidencyMachine machine;
  auto* run = machine.add({0, 8});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.check(run, 1));
  ASSERT_OK(machine.settle());
  ASSERT_OK(machine.evict(run));
  EXPECT_EQ(machine.residency().figures().stats().clean_evictions, 8U);
  EXPECT_EQ(unmaps(machine), 2U);
}

TEST(TransferEnds, APageInAStagingFrameDoesNotWaitForOthers) {
  // A copy takes 40 ms: while the first page is on its way to the file, the others are still being copied out.
  ResidencyMachine machine({.host = 0_B, .file = 32_MiB, .sim = {.memory = 64_MiB, .outbound = {50'000'000, {}}}});
  auto* run = machine.add({0, 4});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  EXPECT_GE(unmaps(machine), 2U);
  ASSERT_OK(machine.check(run, 1));
}

}  // namespace
}  // namespace tessera
