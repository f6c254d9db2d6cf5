#include "tier/handle_tier.hpp"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "sim/fault_driver.hpp"
#include "sim_machine.hpp"
#include "tier/device_tier.hpp"

namespace tessera {
namespace {

// Over device memory, as an example.
class HandleTierTest : public testing::Test {
 protected:
  void TearDown() override { machine_.finish(); }

  Bytes free_memory() { return machine_.driver().memory_info(DeviceId(0)).value().free; }
  static std::vector<Frame> take(DeviceTier& tier, std::size_t count) {
    std::vector<Frame> frames;
    while (frames.size() < count) frames.push_back(tier.take(PageClass::kBase).value());
    return frames;
  }
  static void give_back(DeviceTier& tier, std::span<const Frame> frames) {
    for (const Frame& frame : frames) tier.give_back(frame);
  }

  SimMachine machine_{SimOptions{.memory = 96_MiB}};
};

TEST_F(HandleTierTest, AReturnedFrameIsReused) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 64_MiB);
  const Frame first = tier.take(PageClass::kBase).value();
  tier.give_back(first);
  EXPECT_EQ(tier.usage().spare, kBasePage);
  const Frame second = tier.take(PageClass::kBase).value();
  EXPECT_EQ(first.value, second.value);
  tier.give_back(second);
}

TEST_F(HandleTierTest, AFrameWrittenOffStaysOutAndTheTierMayEnd) {
  Frame frame;
  {
    DeviceTier tier(machine_.driver(), DeviceId(0), 4_MiB);
    frame = tier.take(PageClass::kBase).value();
    tier.write_off(frame);
    EXPECT_EQ(tier.usage().used, kBasePage);
    EXPECT_EQ(tier.usage().lost, kBasePage);
    EXPECT_TRUE(tier.validate().is_ok());
    tier.give_back(tier.take(PageClass::kBase).value());
    EXPECT_EQ(tier.take(PageClass::kLarge).status().code(), Code::kOutOfMemory);
  }
  EXPECT_TRUE(machine_.driver().destroy_frame(FrameId(frame.value)).is_ok());
}

TEST_F(HandleTierTest, SpareFramesStayUntilTheOtherClassNeedsTheirBudget) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 64_MiB);
  give_back(tier, take(tier, 15));
  const Frame large = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(tier.usage().spare, 30_MiB) << "there was room for both";
  const Frame other = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(tier.usage().spare, Bytes());
  EXPECT_EQ(free_memory(), 32_MiB);
  tier.give_back(large);
  tier.give_back(other);
}

TEST_F(HandleTierTest, OnlyAsManySpareFramesAsNeededAreDestroyed) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 36_MiB);
  give_back(tier, take(tier, 15));
  const Frame large = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(tier.usage().spare, 4_MiB);
  tier.give_back(large);
}

TEST_F(HandleTierTest, ALargePageGetsAWholeFrameAndBasePagesShareItsBudgetLater) {
  FaultDriver driver(machine_.driver());
  DeviceTier tier(driver, DeviceId(0), 32_MiB);
  give_back(tier, take(tier, 16));
  const Frame large = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(large.page_class, PageClass::kLarge);
  EXPECT_EQ(driver.calls(DriverCall::kDestroyFrame), 16u) << "all sixteen base frames make its room";
  EXPECT_EQ(driver.calls(DriverCall::kCreateFrame), 16u + 1);
  EXPECT_EQ(tier.usage().used, 32_MiB);
  EXPECT_EQ(tier.usage().spare, Bytes());
  EXPECT_FALSE(tier.take(PageClass::kBase).is_ok());
  EXPECT_TRUE(tier.validate().is_ok());
  tier.give_back(large);
  const std::vector<Frame> frames = take(tier, 16);
  EXPECT_EQ(driver.calls(DriverCall::kDestroyFrame), 16u + 1) << "the large frame, once";
  EXPECT_EQ(driver.calls(DriverCall::kCreateFrame), 16u + 1 + 16);
  give_back(tier, frames);
}

TEST_F(HandleTierTest, ASpareFrameOfTheClassIsTakenBeforeOthersAreDestroyed) {
  FaultDriver driver(machine_.driver());
  DeviceTier tier(driver, DeviceId(0), 64_MiB);
  const Frame first = tier.take(PageClass::kLarge).value();
  give_back(tier, take(tier, 16));
  tier.give_back(first);
  const Frame second = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(second.value, first.value);
  EXPECT_EQ(tier.usage().spare, 32_MiB);
  EXPECT_EQ(driver.calls(DriverCall::kDestroyFrame), 0u);
  tier.give_back(second);
}

TEST_F(HandleTierTest, ATrimDestroysNoMoreThanNeeded) {
  FaultDriver driver(machine_.driver());
  DeviceTier tier(driver, DeviceId(0), 64_MiB);
  const Frame large = tier.take(PageClass::kLarge).value();
  give_back(tier, take(tier, 16));
  tier.give_back(large);
  tier.trim_to(52_MiB);
  EXPECT_EQ(tier.usage().spare, 52_MiB) << "base frames suffice";
  EXPECT_EQ(driver.calls(DriverCall::kDestroyFrame), 6u);
  tier.trim_to(30_MiB);
  EXPECT_EQ(tier.usage().spare, 20_MiB) << "the large frame has to go, and no base frame with it";
  EXPECT_EQ(driver.calls(DriverCall::kDestroyFrame), 6u + 1);
  tier.trim_to(19_MiB);
  EXPECT_EQ(tier.usage().spare, 18_MiB);
}

TEST_F(HandleTierTest, RoomForAFrameIsMadeByAsFewCallsAsPossible) {
  FaultDriver driver(machine_.driver());
  DeviceTier tier(driver, DeviceId(0), 40_MiB);
  const Frame half = tier.take(PageClass::k16MiB).value();
  give_back(tier, take(tier, 12));
  tier.give_back(half);
  const Frame first = tier.take(PageClass::k8MiB).value();
  EXPECT_EQ(driver.calls(DriverCall::kDestroyFrame), 1u) << "one of 16 MiB instead of four";
  EXPECT_EQ(tier.usage().spare, 24_MiB);
  const Frame second = tier.take(PageClass::k8MiB).value();
  EXPECT_EQ(driver.calls(DriverCall::kDestroyFrame), 1u) << "there is room from the first";
  const Frame third = tier.take(PageClass::k4MiB).value();
  EXPECT_EQ(driver.calls(DriverCall::kDestroyFrame), 3u) << "base frames are all there is";
  for (const Frame& frame : {first, second, third}) tier.give_back(frame);
}

TEST_F(HandleTierTest, WhenTheDeviceHasLessThanTheBudgetAllSpareFramesAreDestroyedOnce) {
  FaultDriver driver(machine_.driver());
  DeviceTier tier(driver, DeviceId(0), 1_GiB);
  give_back(tier, take(tier, 40));
  const Frame large = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(driver.calls(DriverCall::kDestroyFrame), 40u);
  EXPECT_EQ(driver.calls(DriverCall::kCreateFrame), 40u + 2) << "refused once";
  EXPECT_EQ(tier.usage().used, kLargePage);
  EXPECT_EQ(tier.usage().spare, Bytes());
  tier.give_back(large);
}

TEST_F(HandleTierTest, WhenTheDeviceHasLessThanTheBudgetSpareFramesMakeRoom) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 1_GiB);
  const std::vector<Frame> frames = take(tier, 40);
  const auto spare = std::span(frames).first(kBasePerLarge - 1);
  give_back(tier, spare);
  const auto large = tier.take(PageClass::kLarge);
  ASSERT_TRUE(large.is_ok()) << large.status().to_string();
  EXPECT_EQ(tier.usage().spare, Bytes());
  tier.give_back(large.value());
  give_back(tier, std::span(frames).subspan(spare.size()));
}

TEST_F(HandleTierTest, OutOfMemoryNamesTheBytes) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 2_MiB);
  const Frame frame = tier.take(PageClass::kBase).value();
  const Status status = tier.take(PageClass::kBase).status();
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_EQ(status.message(), "device tier: 2097152 bytes requested, 2097152 of 2097152 are in use");
  tier.give_back(frame);
}

TEST_F(HandleTierTest, ASpareFrameThatCannotBeDestroyedStaysSpare) {
  FaultDriver driver(machine_.driver());
  DeviceTier tier(driver, DeviceId(0), 32_MiB);
  tier.give_back(tier.take(PageClass::kBase).value());
  driver.fail({DriverCall::kDestroyFrame, 1, Status(Code::kDriver, "injected", 999)});
  EXPECT_EQ(tier.take(PageClass::kLarge).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(driver.failed(), 1u);
  EXPECT_EQ(tier.usage().spare, kBasePage);
  EXPECT_TRUE(tier.validate().is_ok());
  const auto large = tier.take(PageClass::kLarge);
  ASSERT_TRUE(large.is_ok()) << large.status().to_string();
  tier.give_back(large.value());
}

TEST_F(HandleTierTest, AFrameThatCannotBeCreatedIsTheDriversError) {
  FaultDriver driver(machine_.driver());
  DeviceTier tier(driver, DeviceId(0), 32_MiB);
  driver.fail({DriverCall::kCreateFrame, 1, Status(Code::kDriver, "injected", 999)});
  EXPECT_EQ(tier.take(PageClass::kLarge).status().native_code(), 999);
  EXPECT_EQ(tier.usage().used, Bytes());
  tier.give_back(tier.take(PageClass::kLarge).value());
}

TEST_F(HandleTierTest, ACeilingReturnsSpareFramesAndHoldsUntilItIsRaised) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 64_MiB);
  std::vector<Frame> frames = take(tier, 20);
  give_back(tier, std::span(frames).subspan(10));
  frames.resize(10);
  tier.set_ceiling(24_MiB);
  EXPECT_EQ(free_memory(), 72_MiB) << "four spare frames stay";
  EXPECT_EQ(tier.usage().capacity, 24_MiB);
  tier.set_ceiling(8_MiB);
  EXPECT_EQ(tier.usage().capacity, 20_MiB) << "what is in use stays";
  give_back(tier, std::span(frames).subspan(5));
  frames.resize(5);
  tier.set_ceiling(8_MiB);
  EXPECT_EQ(tier.usage().capacity, 10_MiB);
  EXPECT_EQ(free_memory(), 86_MiB);
  tier.regain(DeviceTier::Ask::kNow);
  EXPECT_EQ(tier.usage().capacity, 10_MiB);
  EXPECT_FALSE(tier.take(PageClass::kBase).is_ok());
  EXPECT_EQ(tier.reach().value(), 8_MiB);
  tier.set_ceiling(1_GiB);
  tier.regain(DeviceTier::Ask::kWhenDue);
  EXPECT_EQ(tier.usage().capacity, 64_MiB) << "never more than the limit";
  EXPECT_EQ(tier.limit(), 64_MiB);
  EXPECT_TRUE(tier.validate().is_ok());
  give_back(tier, frames);
}

TEST_F(HandleTierTest, TheLimitCanBeRaisedAndLoweredToWhatTheBudgetIs) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 8_MiB);
  tier.set_limit(16_MiB);
  EXPECT_EQ(tier.limit(), 16_MiB);
  EXPECT_EQ(tier.usage().capacity, 8_MiB) << "the ceiling decides";
  tier.set_ceiling(16_MiB);
  tier.regain(DeviceTier::Ask::kWhenDue);
  EXPECT_EQ(tier.usage().capacity, 16_MiB);
  tier.set_limit(8_MiB);
  EXPECT_EQ(tier.limit(), 16_MiB);
  EXPECT_TRUE(tier.validate().is_ok());
  tier.set_ceiling(8_MiB);
  tier.set_limit(8_MiB);
  EXPECT_EQ(tier.limit(), 8_MiB);
  EXPECT_EQ(tier.usage().capacity, 8_MiB);
}

}  // namespace
}  // namespace tessera
