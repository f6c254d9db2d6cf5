#include "tier/handle_tier.hpp"

#include <gtest/gtest.h>

#include "driver/fault_driver.hpp"
#include "sim_machine.hpp"
#include "tier/device_tier.hpp"

namespace tessera {
namespace {

// Over device memory, which is as good as any.
class HandleTierTest : public testing::Test {
 protected:
  void TearDown() override { machine_.finish(); }

  Bytes free_memory() { return machine_.driver().memory_info(DeviceId(0)).value().free; }

  SimMachine machine_{SimOptions{.memory = 96_MiB}};
};

TEST_F(HandleTierTest, AFrameThatComesBackIsHandedOutAgain) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 64_MiB);
  const Frame first = tier.take(PageClass::kBase).value();
  tier.give_back(first);
  EXPECT_EQ(tier.usage().spare, kBasePage);
  const Frame second = tier.take(PageClass::kBase).value();
  EXPECT_EQ(first.value, second.value);
  tier.give_back(second);
}

TEST_F(HandleTierTest, SpareFramesStayUntilTheOtherClassNeedsTheirBudget) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 64_MiB);
  std::vector<Frame> frames;
  for (int i = 0; i < 16; ++i) frames.push_back(tier.take(PageClass::kBase).value());
  for (const Frame& frame : frames) tier.give_back(frame);
  const Frame large = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(tier.usage().spare, 32_MiB) << "there was room for both";
  const Frame other = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(tier.usage().spare, Bytes());
  EXPECT_EQ(free_memory(), 32_MiB);
  tier.give_back(large);
  tier.give_back(other);
}

TEST_F(HandleTierTest, OnlyAsManySpareFramesAsNeededAreDestroyed) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 40_MiB);
  std::vector<Frame> frames;
  for (int i = 0; i < 20; ++i) frames.push_back(tier.take(PageClass::kBase).value());
  for (const Frame& frame : frames) tier.give_back(frame);
  const Frame large = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(tier.usage().spare, 8_MiB);
  tier.give_back(large);
}

TEST_F(HandleTierTest, WhenTheDeviceHasLessThanTheBudgetSpareFramesMakeRoom) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 1_GiB);
  std::vector<Frame> frames;
  for (int i = 0; i < 40; ++i) frames.push_back(tier.take(PageClass::kBase).value());
  for (const Frame& frame : frames) tier.give_back(frame);
  const auto large = tier.take(PageClass::kLarge);
  ASSERT_TRUE(large.is_ok()) << large.status().to_string();
  EXPECT_EQ(tier.usage().spare, Bytes());
  tier.give_back(large.value());
}

TEST_F(HandleTierTest, OutOfMemoryNamesTheBytes) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 2_MiB);
  const Frame frame = tier.take(PageClass::kBase).value();
  const Status status = tier.take(PageClass::kBase).status();
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_EQ(status.message(),
            "device tier: 2097152 bytes asked, 2097152 of 2097152 are in frames that are out");
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

}  // namespace
}  // namespace tessera
