#include "residency/eviction/transfer_starts.hpp"

#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(TransferStarts, ANearlyFullDeviceGrowsHostMemory) {
  ResidencyMachine machine({.device = 8_MiB});
  ASSERT_OK(machine.write(machine.add(), 1));
  ASSERT_OK(machine.write(machine.add(), 2));
  EXPECT_FALSE(machine.tiers().host.grow_ahead()) << "half of it is free";
  ASSERT_OK(machine.write(machine.add(), 3));
  EXPECT_TRUE(machine.tiers().host.grow_ahead());
}

}  // namespace
}  // namespace tessera
