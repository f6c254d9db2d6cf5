#include "residency/pinned_runs.hpp"

#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(ResidencyPins, PinnedRunsStayAndUnpinnedRunsAreEvictable) {
  ResidencyMachine machine({.device = 8_MiB});
  auto* pinned = machine.add();
  ASSERT_OK(machine.write(pinned, 1));
  ASSERT_OK(machine.evict(pinned));
  ASSERT_OK(machine.residency().pins().pin(pinned));
  EXPECT_EQ(pinned->missing.load(), 0U);
  EXPECT_EQ(machine.residency().figures().stats().pinned_bytes, 2_MiB);
  EXPECT_EQ(machine.evict(pinned).code(), Code::kBusy);
  for (auto* run : machine.add_many(8)) ASSERT_OK(machine.write(run, 2));
  EXPECT_EQ(pinned->missing.load(), 0U);
  ASSERT_OK(machine.residency().pins().unpin(pinned));
  EXPECT_EQ(machine.residency().pins().unpin(pinned).code(), Code::kInvalidArgument);
  EXPECT_OK(machine.evict(pinned));
  EXPECT_OK(machine.check(pinned, 1));
}

TEST(ResidencyPins, AnExposedRunStaysPinnedWithItsReason) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.residency().pins().pin(run, "ipc"));
  ASSERT_OK(machine.residency().pins().pin(run, "rdma"));
  ASSERT_OK(machine.residency().pins().pin(run));
  ASSERT_OK(machine.residency().pins().unpin(run));
  EXPECT_EQ(machine.residency().pins().unpin(run).code(), Code::kInvalidArgument);
  EXPECT_EQ(machine.evict(run).code(), Code::kBusy);
  EXPECT_EQ(machine.residency().figures().stats().exposed_bytes, 2_MiB);
  ASSERT_EQ(machine.residency().figures().exposures().size(), 1U);
}

TEST(ResidencyPins, AKeptRunStaysUntilItsLastUnkeep) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.residency().pins().keep(run, "global"));
  ASSERT_OK(machine.residency().pins().keep(run, "global"));
  EXPECT_EQ(machine.residency().pins().unpin(run).code(), Code::kInvalidArgument);
  EXPECT_EQ(machine.residency().figures().stats().exposed_bytes, 2_MiB);
  EXPECT_EQ(machine.residency().figures().exposures().front().first, std::string_view("global"));
  ASSERT_OK(machine.residency().pins().unkeep(run));
  EXPECT_EQ(machine.evict(run).code(), Code::kBusy);
  ASSERT_OK(machine.residency().pins().unkeep(run));
  EXPECT_EQ(machine.residency().pins().unkeep(run).code(), Code::kInvalidArgument);
  EXPECT_EQ(machine.residency().figures().stats().exposed_bytes, Bytes());
  EXPECT_OK(machine.evict(run));
  EXPECT_OK(machine.residency().figures().validate());
}

TEST(ResidencyPins, UnseenWritesToAKeptRunAreNotLost) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.residency().pins().keep(run, "global"));
  ASSERT_OK(machine.launch(run, 2, machine.stream(), Access::kWrite));  // unannounced: the copy in host memory seems to
                                                                        // be valid
  ASSERT_OK(machine.sim().synchronize(DeviceId(0)));
  ASSERT_OK(machine.residency().pins().unkeep(run));
  ASSERT_OK(machine.evict(run));
  EXPECT_OK(machine.check(run, 2));
}

TEST(ResidencyPins, KeptRunsLeaveRoomForLaunches) {
  ResidencyMachine machine({.device = 16_MiB});
  const auto runs = machine.add_many(8);
  for (auto* run : runs) ASSERT_OK(machine.write(run, 1));
  const std::vector three(runs.begin(), runs.begin() + 3);  // the largest launch: 6 MiB
  ASSERT_OK(machine.touch(three));
  for (std::size_t i = 3; i < 8; ++i) ASSERT_OK(machine.residency().pins().keep(runs[i], "global"));
  EXPECT_EQ(machine.residency().pins().keep(runs[0], "global").code(), Code::kOutOfMemory);
  EXPECT_OK(machine.residency().pins().keep(runs[3], "global"));  // a pinned run takes no additional room
  EXPECT_OK(machine.touch(three));
}

TEST(ResidencyPins, TheLastPinThatLeavesLaunchesNothingFails) {
  for (const char* const exposed_by : {static_cast<const char*>(nullptr), "ipc"}) {
    ResidencyMachine machine({.device = 16_MiB});
    const auto runs = machine.add_many(9);
    for (auto* run : runs) ASSERT_OK(machine.write(run, 1));
    for (std::size_t i = 0; i < 7; ++i) ASSERT_OK(machine.residency().pins().pin(runs[i], exposed_by));
    EXPECT_EQ(machine.residency().pins().pin(runs[7], exposed_by).code(), Code::kOutOfMemory);
    EXPECT_OK(machine.residency().pins().pin(runs[0], exposed_by));  // it takes no additional room
    for (auto* run : runs) EXPECT_OK(machine.touch({run}));
    EXPECT_OK(machine.residency().figures().validate());
  }
}

TEST(ResidencyPins, AllMayBePinnedWhereAllFit) {
  ResidencyMachine machine({.device = 16_MiB});
  const auto runs = machine.add_many(8);
  for (auto* run : runs) ASSERT_OK(machine.residency().pins().pin(run));
  EXPECT_OK(machine.touch(runs));
}

}  // namespace
}  // namespace tessera
