#include "tier/device_tier.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "sim_machine.hpp"

namespace tessera {
namespace {

class DeviceTierTest : public testing::Test {
 protected:
  void TearDown() override { machine_.finish(); }

  Bytes free_memory() { return machine_.driver().memory_info(DeviceId(0)).value().free; }

  SimMachine machine_{SimOptions{.memory = 96_MiB}};
};

TEST_F(DeviceTierTest, TrimReturnsTheMemoryToTheDevice) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 64_MiB);
  tier.give_back(tier.take(PageClass::kLarge).value());
  EXPECT_EQ(free_memory(), 64_MiB);
  tier.trim();
  EXPECT_EQ(free_memory(), 96_MiB);
}

TEST_F(DeviceTierTest, ReportsADriverRefusal) {
  DeviceTier tier(machine_.driver(), DeviceId(9), 64_MiB);
  const Status status = tier.take(PageClass::kBase).status();
  EXPECT_FALSE(status.is_ok());
  EXPECT_NE(status.code(), Code::kOutOfMemory);
  EXPECT_EQ(tier.usage().used, Bytes());
}

// Every byte written at the frame's address can be read at its alias, contiguously.
void expect_same_bytes(SimDriver& driver, Address place, Address alias, Bytes bytes) {
  ASSERT_TRUE(driver.set_access(place, bytes, DeviceId(0)).is_ok());
  auto* const there = reinterpret_cast<std::uint64_t*>(place.value());
  const auto* const here = reinterpret_cast<const std::uint64_t*>(alias.value());
  for (std::uint64_t i = 0; i < bytes.value() / 8; i += 512) there[i] = i + 1;
  for (std::uint64_t i = 0; i < bytes.value() / 8; i += 512) ASSERT_EQ(here[i], i + 1);
}

TEST_F(DeviceTierTest, AFrameHasASecondMappingUntilItsMemoryIsReturned) {
  SimDriver& driver = machine_.driver();
  const Address place = driver.reserve(kLargePage, kLargePage).take();
  {
    DeviceTier tier(driver, DeviceId(0), 64_MiB);
    const Frame frame = tier.take(PageClass::kLarge).value();
    ASSERT_TRUE(driver.map(place, kLargePage, FrameId(frame.value)).is_ok());
    ASSERT_TRUE(tier.open_alias(frame).is_ok());
    const Address alias = tier.alias_of(frame);
    expect_same_bytes(driver, place, alias, kLargePage);
    ASSERT_TRUE(driver.unmap(place, kLargePage).is_ok());
    EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(alias.value()), 1U);
    tier.give_back(frame);
    ASSERT_TRUE(tier.open_alias(tier.take(PageClass::kLarge).value()).is_ok());
    EXPECT_EQ(tier.alias_of(frame), alias) << "it has one already";
    tier.give_back(frame);
    tier.trim();
    EXPECT_EQ(free_memory(), 96_MiB);
  }
  EXPECT_TRUE(driver.release(place, kLargePage).is_ok());
}

TEST_F(DeviceTierTest, ASecondMappingEndsWithTheFrameThatMakesRoomForAnother) {
  SimDriver& driver = machine_.driver();
  const Address place = driver.reserve(kLargePage, kLargePage).take();
  {
    DeviceTier tier(driver, DeviceId(0), 32_MiB);
    std::vector<Frame> frames;
    for (std::uint64_t i = 0; i < kBasePerLarge; ++i) frames.push_back(tier.take(PageClass::kBase).value());
    ASSERT_TRUE(tier.open_alias(frames[0]).is_ok());
    for (const Frame& frame : frames) tier.give_back(frame);
    const Frame large = tier.take(PageClass::kLarge).value();
    EXPECT_EQ(free_memory(), 64_MiB) << "memory that stayed mapped would not be free";
    ASSERT_TRUE(driver.map(place, kLargePage, DeviceTier::handle_of(large)).is_ok());
    ASSERT_TRUE(tier.open_alias(large).is_ok());
    expect_same_bytes(driver, place, tier.alias_of(large), kLargePage);
    ASSERT_TRUE(driver.unmap(place, kLargePage).is_ok());
    tier.give_back(large);
    tier.trim();
    EXPECT_EQ(free_memory(), 96_MiB);
  }
  EXPECT_TRUE(driver.release(place, kLargePage).is_ok());
}

}  // namespace
}  // namespace tessera
