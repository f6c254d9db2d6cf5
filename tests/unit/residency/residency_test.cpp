#include "residency/residency.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <thread>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(ResidencyRuns, ANewRunHasNoFrames) {
  ResidencyMachine machine;
  auto* run = machine.add({0, 2});
  EXPECT_EQ(run->missing.load(), 2U);
  EXPECT_EQ(machine.residency().whereabouts(*run), (std::array<Bytes, kPlaces>{}));
  EXPECT_EQ(machine.residency().stats().run_bytes, 4_MiB);
  EXPECT_OK(machine.residency().remove(run));
  EXPECT_EQ(machine.residency().stats().run_bytes, Bytes());
}

// Its launch is recorded before the run is removed, and then read; otherwise the next reader would access a removed
// run.
TEST(ResidencyRuns, ARecordedLaunchIsReadBeforeItsRunIsRemoved) {
  ResidencyMachine machine;
  const std::array runs = {machine.add()};
  machine.add({0, 8});  // memory is short, so every launch is recorded
  ASSERT_OK(machine.write(runs[0], 1));
  machine.residency().advance();
  ASSERT_FALSE(machine.residency().has_work());
  std::jthread removing;
  const auto find = [&]() -> std::optional<std::span<tessera::Run* const>> {
    removing = std::jthread([&] { EXPECT_OK(machine.residency().remove(runs[0])); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it gets as far as it can
    return runs;
  };
  Use use;
  ASSERT_TRUE(machine.residency().try_use(find, StreamId(0), Access::kRead, use));
  machine.residency().end_use(runs, StreamId(0), use);
  removing.join();
  EXPECT_FALSE(machine.residency().has_work());
}

TEST(ResidencyRuns, MoreThanAllTiersHoldIsOutOfMemory) {
  ResidencyMachine machine({.device = 8_MiB, .host = 4_MiB, .file = 4_MiB});
  machine.add({0, 6});
  const auto more = machine.residency().add(machine.reserve({0, 3}), {0, 3}, TagId());
  EXPECT_EQ(more.status().code(), Code::kOutOfMemory);
  EXPECT_NE(more.status().message().find("16 MiB"), std::string_view::npos);
}

TEST(ResidencyRuns, RemovingWaitsForTheWorkThatUsesTheRun) {
  ResidencyMachine machine;
  const StreamId stream = machine.stream();
  for (std::uint64_t i = 0; i < 20; ++i) {
    auto* run = machine.add({0, 4});
    ASSERT_OK(machine.write(run, i, stream));
    ASSERT_OK(machine.residency().remove(run));  // the simulator refuses to unmap while in use
  }
}

TEST(ResidencyRuns, RemovingARunInABlockingUseIsRefused) {
  ResidencyMachine machine;
  auto* run = machine.add();
  Use use;
  ASSERT_OK(machine.residency().begin_use({&run, 1}, StreamId(0), Access::kWrite, Use::Kind::kHold, use));
  EXPECT_EQ(machine.residency().remove(run).code(), Code::kBusy);
  machine.residency().end_use({&run, 1}, StreamId(0), use);
  EXPECT_OK(machine.residency().remove(run));
}

TEST(ResidencyPins, PinnedRunsStayAndUnpinnedRunsAreEvictable) {
  ResidencyMachine machine({.device = 8_MiB});
  auto* pinned = machine.add();
  ASSERT_OK(machine.write(pinned, 1));
  ASSERT_OK(machine.evict(pinned));
  ASSERT_OK(machine.residency().pin(pinned));
  EXPECT_EQ(pinned->missing.load(), 0U);
  EXPECT_EQ(machine.residency().stats().pinned_bytes, 2_MiB);
  EXPECT_EQ(machine.evict(pinned).code(), Code::kBusy);
  for (auto* run : machine.add_many(8)) ASSERT_OK(machine.write(run, 2));
  EXPECT_EQ(pinned->missing.load(), 0U);
  ASSERT_OK(machine.residency().unpin(pinned));
  EXPECT_EQ(machine.residency().unpin(pinned).code(), Code::kInvalidArgument);
  EXPECT_OK(machine.evict(pinned));
  EXPECT_OK(machine.check(pinned, 1));
}

TEST(ResidencyPins, AnExposedRunStaysPinnedWithItsReason) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.residency().pin(run, "ipc"));
  ASSERT_OK(machine.residency().pin(run, "rdma"));
  ASSERT_OK(machine.residency().pin(run));
  ASSERT_OK(machine.residency().unpin(run));
  EXPECT_EQ(machine.residency().unpin(run).code(), Code::kInvalidArgument);
  EXPECT_EQ(machine.evict(run).code(), Code::kBusy);
  EXPECT_EQ(machine.residency().stats().exposed_bytes, 2_MiB);
  ASSERT_EQ(machine.residency().exposures().size(), 1U);
}

TEST(ResidencyPins, AKeptRunStaysUntilItsLastUnkeep) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.residency().keep(run, "global"));
  ASSERT_OK(machine.residency().keep(run, "global"));
  EXPECT_EQ(machine.residency().unpin(run).code(), Code::kInvalidArgument);
  EXPECT_EQ(machine.residency().stats().exposed_bytes, 2_MiB);
  EXPECT_EQ(machine.residency().exposures().front().first, std::string_view("global"));
  ASSERT_OK(machine.residency().unkeep(run));
  EXPECT_EQ(machine.evict(run).code(), Code::kBusy);
  ASSERT_OK(machine.residency().unkeep(run));
  EXPECT_EQ(machine.residency().unkeep(run).code(), Code::kInvalidArgument);
  EXPECT_EQ(machine.residency().stats().exposed_bytes, Bytes());
  EXPECT_OK(machine.evict(run));
  EXPECT_OK(machine.residency().validate());
}

TEST(ResidencyPins, UnseenWritesToAKeptRunAreNotLost) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.residency().keep(run, "global"));
  ASSERT_OK(machine.launch(run, 2, machine.stream(), Access::kWrite));  // unannounced: the copy in host memory seems to
                                                                        // be valid
  ASSERT_OK(machine.sim().synchronize(DeviceId(0)));
  ASSERT_OK(machine.residency().unkeep(run));
  ASSERT_OK(machine.evict(run));
  EXPECT_OK(machine.check(run, 2));
}

TEST(ResidencyPins, KeptRunsLeaveRoomForLaunches) {
  ResidencyMachine machine({.device = 16_MiB});
  const auto runs = machine.add_many(8);
  for (auto* run : runs) ASSERT_OK(machine.write(run, 1));
  const std::vector three(runs.begin(), runs.begin() + 3);  // the largest launch: 6 MiB
  ASSERT_OK(machine.touch(three));
  for (std::size_t i = 3; i < 8; ++i) ASSERT_OK(machine.residency().keep(runs[i], "global"));
  EXPECT_EQ(machine.residency().keep(runs[0], "global").code(), Code::kOutOfMemory);
  EXPECT_OK(machine.residency().keep(runs[3], "global"));  // a pinned run takes no additional room
  EXPECT_OK(machine.touch(three));
}

TEST(ResidencyPins, TheLastPinThatLeavesLaunchesNothingFails) {
  for (const char* const exposed_by : {static_cast<const char*>(nullptr), "ipc"}) {
    ResidencyMachine machine({.device = 16_MiB});
    const auto runs = machine.add_many(9);
    for (auto* run : runs) ASSERT_OK(machine.write(run, 1));
    for (std::size_t i = 0; i < 7; ++i) ASSERT_OK(machine.residency().pin(runs[i], exposed_by));
    EXPECT_EQ(machine.residency().pin(runs[7], exposed_by).code(), Code::kOutOfMemory);
    EXPECT_OK(machine.residency().pin(runs[0], exposed_by));  // it takes no additional room
    for (auto* run : runs) EXPECT_OK(machine.touch({run}));
    EXPECT_OK(machine.residency().validate());
  }
}

TEST(ResidencyPins, AllMayBePinnedWhereAllFit) {
  ResidencyMachine machine({.device = 16_MiB});
  const auto runs = machine.add_many(8);
  for (auto* run : runs) ASSERT_OK(machine.residency().pin(run));
  EXPECT_OK(machine.touch(runs));
}

TEST(ResidencyStatistics, WhereaboutsAndLiveBytesFollowTheRun) {
  ResidencyMachine machine;
  auto* run = machine.add({0, 2});
  machine.add()->live.store(0);
  EXPECT_EQ(machine.residency().live_bytes(), 4_MiB);
  ASSERT_OK(machine.write(run, 1));
  EXPECT_EQ(machine.residency().whereabouts(*run)[0], 4_MiB);
  ASSERT_OK(machine.evict(run));
  EXPECT_EQ(machine.residency().whereabouts(*run)[2], 4_MiB);
  EXPECT_EQ(machine.residency().stats().evictions, 2U);
  EXPECT_EQ(machine.residency().stats().bytes_out, 4_MiB);
}

TEST(ResidencyFailures, AFailedCreationLeaksNothing) {
  SteadyClock clock;
  SimDriver sim({.memory = 64_MiB}, clock);
  FaultDriver driver(sim);
  EventLog log(clock, 16);
  DeviceTier device(driver, DeviceId(0), 16_MiB);
  HostTier host(driver, 16_MiB, 8_MiB);
  FileTier file(nullptr, Bytes());
  for (std::uint64_t nth = 1; nth <= 2; ++nth) {
    driver.fail({std::nullopt, nth, Status(Code::kDriver, "injected", 999)});
    const auto made = Residency::create(driver, DeviceId(0), {device, host, file}, make_policy("lru").take(), log, {});
    EXPECT_EQ(made.status().code(), Code::kDriver);
    driver.clear();
    EXPECT_TRUE(sim.leaks().empty());
  }
}

TEST(ResidencyFailures, AFrameThatCannotBeUnmappedAfterAFailedMountIsWrittenOff) {
  ResidencyMachine machine;
  DeviceTier& device = machine.tiers().device;
  const Frame frame = device.take(PageClass::kBase).value();
  device.give_back(frame);  // the next one to be taken
  auto* run = machine.add({0, 1});
  const Address address = run->address;
  for (std::uint64_t nth = 1; device.usage().lost == Bytes(); ++nth) {
    machine.fault().fail({std::nullopt, nth, Status(Code::kDriver, "injected", 999), true});
    ASSERT_FALSE(machine.write(run, 1).is_ok()) << "no failure left a frame mapped";
    machine.fault().clear();
    EXPECT_EQ(machine.valid(), "ok") << nth;
  }
  EXPECT_EQ(device.usage().lost, kBasePage);
  EXPECT_OK(machine.residency().remove(run));
  EXPECT_OK(machine.sim().unmap(address, kBasePage));
  EXPECT_OK(machine.sim().destroy_frame(FrameId(frame.value)));
  machine.abandon();
}

TEST(ResidencyFailures, APoisonedDeviceIsAnErrorAndNothingHangs) {
  ResidencyMachine machine({.device = 8_MiB});
  const auto runs = machine.add_many(8);
  for (std::uint64_t i = 0; i < runs.size(); ++i) ASSERT_OK(machine.write(runs[i], i));
  machine.lose_device();
  EXPECT_EQ(machine.touch({runs[0]}).code(), Code::kDriver);
  EXPECT_FALSE(machine.evict(runs.back()).is_ok());
  EXPECT_FALSE(machine.residency().remove(runs[3]).is_ok());
  machine.abandon();
}

}  // namespace
}  // namespace tessera
