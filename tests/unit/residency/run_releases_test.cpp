#include "residency/eviction/run_releases.hpp"

#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(RunReleases, RemovingARunOfWhichPagesAreMovingEndsTheMoves) {
  ResidencyMachine machine({.file = 64_MiB});
  auto* run = machine.add({0, 4});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.prefetch(run));
  EXPECT_TRUE(run->has(PageState::kFetching));
  ASSERT_OK(machine.residency().runs().remove(run));
  EXPECT_EQ(machine.valid(), "ok");
  EXPECT_FALSE(machine.residency().has_work());
}

TEST(RunReleases, MovesThatCannotBeWaitedForEndWithTheirRun) {
  ResidencyMachine machine;
  auto* run = machine.add({0, 4});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.prefetch(run));
  ASSERT_TRUE(run->has(PageState::kFetching));
  machine.lose_device();
  EXPECT_EQ(machine.residency().runs().remove(run).code(), Code::kDriver);
  EXPECT_FALSE(machine.residency().has_work());
  EXPECT_EQ(machine.valid(), "ok");
  machine.abandon();
}

TEST(RunReleases, DestructionReleasesEverythingInFlight) {
  ResidencyMachine machine({.device = 8_MiB, .host = 8_MiB, .file = 32_MiB});
  const auto runs = machine.add_many(16);
  for (std::uint64_t i = 0; i < runs.size(); ++i) ASSERT_OK(machine.write(runs[i], i));
  ASSERT_OK(machine.residency().prefetch(runs));
}  // the machine finds what was left

TEST(RunReleases, FramesThatCannotBeUnmappedAreCountedAsLost) {
  ResidencyMachine machine;
  auto* run = machine.add({0, 2});
  ASSERT_OK(machine.write(run, 1));
  const Address address = run->address;
  const Frame frames[] = {*run->pages[0].device, *run->pages[1].device};
  machine.fault().fail({DriverCall::kUnmap, 1, Status(Code::kDriver, "injected", 999), true});
  EXPECT_EQ(machine.residency().runs().remove(run).code(), Code::kDriver);
  machine.fault().clear();
  EXPECT_EQ(machine.valid(), "ok");
  EXPECT_EQ(machine.tiers().device.usage().lost, 4_MiB);
  // The engine cannot, but the test must not leak anything.
  EXPECT_OK(machine.sim().unmap(address, 4_MiB));
  for (const Frame& frame : frames) EXPECT_OK(machine.sim().destroy_frame(FrameId(frame.value)));
  machine.abandon();
}

}  // namespace
}  // namespace tessera
