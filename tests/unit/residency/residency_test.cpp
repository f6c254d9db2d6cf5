#include "residency/residency.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <thread>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

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
  EXPECT_OK(machine.residency().runs().remove(run));
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
  EXPECT_FALSE(machine.residency().runs().remove(runs[3]).is_ok());
  machine.abandon();
}

}  // namespace
}  // namespace tessera
