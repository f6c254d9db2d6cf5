#include "tier/backing_tier.hpp"

#include <gtest/gtest.h>

#include "sim_machine.hpp"

namespace tessera {
namespace {

class BackingTierTest : public testing::Test {
 protected:
  void TearDown() override { machine_.finish(); }

  SimDriver& sim() { return machine_.driver(); }

  SimMachine machine_{SimOptions{.memory = 16_MiB}};
};

TEST_F(BackingTierTest, TakesNoDeviceMemory) {
  BackingTier tier(sim(), DeviceId(0), 64_MiB);
  const Frame frame = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(sim().memory_info(DeviceId(0)).value().free, 16_MiB);
  tier.give_back(frame);
}

TEST_F(BackingTierTest, KeepsRoomToSwapAnyTwoPages) {
  EXPECT_EQ(BackingTier::reserve_of(1_GiB), 2 * kLargePage);
  EXPECT_EQ(BackingTier::reserve_of(16_MiB), 8_MiB);
  EXPECT_EQ(BackingTier::reserve_of(Bytes()), Bytes());
}

}  // namespace
}  // namespace tessera
