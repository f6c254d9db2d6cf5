#include <gtest/gtest.h>

#include <vector>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

using DriverMemoryTest = AllocatorMachine;

TEST_F(DriverMemoryTest, ATrimByAnAmountReturnsThatMuchAndNothingThatIsLive) {
  start(small(32_MiB, 64_MiB));
  const auto held = [&] {
    const StatsSnapshot now = allocator_->stats().snapshot();
    return now.totals.device_used + now.totals.device_spare;
  };
  const Address live = allocate(4_MiB);
  const Address freed = allocate(14_MiB);  // frames of 8, 4 and 2 MiB
  ASSERT_TRUE(allocator_->free(freed, kNoStream).is_ok());
  const std::uint64_t before = held();
  EXPECT_TRUE(allocator_->driver_memory().trim_device_by(DeviceId(), 6_MiB).is_ok());
  EXPECT_EQ(held(), before - (6_MiB).value());
  EXPECT_TRUE(allocator_->driver_memory().trim_device_by(DeviceId(), 64_MiB).is_ok());
  EXPECT_EQ(held(), (4_MiB).value());
  EXPECT_EQ(allocator_->memory().where(live).value().tiers[0], 4_MiB);
  EXPECT_TRUE(allocator_->driver_memory().trim_device_by(DeviceId(1), 6_MiB).is_ok()) << "nothing is there";
}

TEST_F(DriverMemoryTest, AYieldGivesTheDriverMemoryUntilItEnds) {
  Options options = small(32_MiB, 64_MiB);
  options.device_memory.reset();
  start(options);
  std::vector<Address> blocks;
  for (std::uint32_t i = 0; i < 56; ++i) {
    blocks.push_back(allocate(4_MiB));
    write(blocks.back(), i, 4_MiB);
  }
  const Bytes before = sim_->memory_info(DeviceId()).value().free;
  const Bytes wanted = before + 16_MiB;
  const Bytes yielded = allocator_->driver_memory().begin_yield(DeviceId(), wanted).value();
  EXPECT_GE(yielded, 16_MiB);
  EXPECT_GE(sim_->memory_info(DeviceId()).value().free, wanted);
  allocator_->driver_memory().end_yield(DeviceId());
  for (std::uint32_t i = 0; i < 56; ++i) EXPECT_TRUE(holds(blocks[i], i, 4_MiB));
}

TEST_F(DriverMemoryTest, ADeviceWithoutAHeapHasNothingToReturn) {
  start(small(32_MiB, 64_MiB));
  EXPECT_EQ(allocator_->driver_memory().begin_yield(DeviceId(1), 16_MiB).value(), Bytes());
  EXPECT_TRUE(allocator_->driver_memory().trim_device(DeviceId(1), Bytes()).is_ok());
  EXPECT_TRUE(allocator_->driver_memory().trim_device_by(DeviceId(1), 1_MiB).is_ok());
  EXPECT_EQ(allocator_->stats().snapshot().totals.devices, 0u);
}

}  // namespace
}  // namespace tessera
