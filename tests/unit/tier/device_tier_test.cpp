#include "tier/device_tier.hpp"

#include <gtest/gtest.h>

#include "sim_machine.hpp"

namespace tessera {
namespace {

class DeviceTierTest : public testing::Test {
 protected:
  void TearDown() override { machine_.finish(); }

  Bytes free_memory() { return machine_.driver().memory_info(DeviceId(0)).value().free; }

  SimMachine machine_{SimOptions{.memory = 96_MiB}};
};

TEST_F(DeviceTierTest, TrimGivesTheMemoryBackToTheDevice) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 64_MiB);
  tier.give_back(tier.take(PageClass::kLarge).value());
  EXPECT_EQ(free_memory(), 64_MiB);
  tier.trim();
  EXPECT_EQ(free_memory(), 96_MiB);
}

TEST_F(DeviceTierTest, ADriverThatRefusesIsReportedAsItself) {
  DeviceTier tier(machine_.driver(), DeviceId(9), 64_MiB);
  const Status status = tier.take(PageClass::kBase).status();
  EXPECT_FALSE(status.is_ok());
  EXPECT_NE(status.code(), Code::kOutOfMemory);
  EXPECT_EQ(tier.usage().used, Bytes());
}

}  // namespace
}  // namespace tessera
