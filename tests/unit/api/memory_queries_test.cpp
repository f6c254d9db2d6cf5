#include <gtest/gtest.h>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

using MemoryQueriesTest = AllocatorMachine;

TEST_F(MemoryQueriesTest, MemoryInfoIsWhatCouldBeAllocatedWithoutAMove) {
  start(small(32_MiB, 64_MiB));
  const MemoryInfo before = allocator_->memory().info(DeviceId()).value();
  EXPECT_EQ(before.free, 32_MiB);
  EXPECT_EQ(before.total, 256_MiB);
  const Address block = allocate(8_MiB);
  EXPECT_EQ(allocator_->memory().info(DeviceId()).value().free, 24_MiB);
  ASSERT_TRUE(allocator_->free(block, kNoStream).is_ok());
  EXPECT_EQ(allocator_->memory().info(DeviceId()).value().free, 32_MiB);
}

TEST_F(MemoryQueriesTest, MemoryInfoIsTheSameBeforeAndAfterTheFirstBlock) {
  Options options = small(32_MiB, 64_MiB);
  options.device_memory.reset();
  start(options);
  const Bytes before = allocator_->memory().info(DeviceId()).value().free;
  EXPECT_EQ(before, 248_MiB) << "what is free but for what a context takes";
  EXPECT_EQ(allocator_->stats().snapshot().totals.devices, 0u) << "to ask makes no heap";
  allocate(2_MiB);
  EXPECT_EQ(allocator_->memory().info(DeviceId()).value().free, before - 2_MiB);
  allocate(2_MiB);
  EXPECT_EQ(allocator_->memory().info(DeviceId()).value().free, before - 4_MiB);
}

TEST_F(MemoryQueriesTest, MemoryInfoReflectsMemoryInUseElsewhere) {
  Options options = small(32_MiB, 64_MiB);
  options.device_memory.reset();
  start(options);
  const Address block = allocate(16_MiB);
  const Bytes before = allocator_->memory().info(DeviceId()).value().free;
  const FrameId frame = sim_->create_frame(DeviceId(), FrameLocation::kDevice, 2_MiB).value();
  EXPECT_EQ(allocator_->memory().info(DeviceId()).value().free, before - 2_MiB);
  const FrameId large = sim_->create_frame(DeviceId(), FrameLocation::kDevice, 100_MiB).value();
  EXPECT_EQ(allocator_->memory().info(DeviceId()).value().free, before - 102_MiB);
  ASSERT_TRUE(allocator_->free(block, kNoStream).is_ok());
  EXPECT_EQ(allocator_->memory().info(DeviceId()).value().free, before - 86_MiB) << "held, and free";
  ASSERT_TRUE(sim_->destroy_frame(frame).is_ok());
  ASSERT_TRUE(sim_->destroy_frame(large).is_ok());
  EXPECT_EQ(allocator_->memory().info(DeviceId()).value().free, before + 16_MiB);
}

TEST_F(MemoryQueriesTest, MemoryBesideTheHeapIsWhatTheDriverHasAndWhatIsHeldFree) {
  start(small(32_MiB, 64_MiB));
  EXPECT_EQ(allocator_->memory().beside(DeviceId()).value().free, 256_MiB);
  const Address block = allocate(8_MiB);
  allocate(4_MiB);
  EXPECT_EQ(allocator_->memory().beside(DeviceId()).value().free, 244_MiB);
  ASSERT_TRUE(allocator_->free(block, kNoStream).is_ok());
  EXPECT_EQ(allocator_->memory().beside(DeviceId()).value().free, 252_MiB);
}

TEST_F(MemoryQueriesTest, MemoryInfoOnRequestIsThatOfTheWholeHeap) {
  Options options = small(32_MiB, 64_MiB, 128_MiB);
  options.report_memory = "virtual";
  start(options);
  const Bytes heap = 32_MiB + 64_MiB + 128_MiB;
  EXPECT_EQ(allocator_->memory().info(DeviceId()).value().total, heap);
  EXPECT_EQ(allocator_->memory().info(DeviceId()).value().free, heap);
  for (int i = 0; i < 12; ++i) allocate(4_MiB);
  EXPECT_EQ(allocator_->memory().info(DeviceId()).value().free, heap - 48_MiB);
  // 16 MiB of them cannot be in their own device's memory.
  EXPECT_EQ(allocator_->memory().info(DeviceId(1)).value().free, heap - 16_MiB);
}

TEST_F(MemoryQueriesTest, ABlockIsOnItsDeviceUntilItIsEvicted) {
  start(small(32_MiB, 64_MiB));
  const Address block = allocate(4_MiB, DeviceId(1));
  write(block, 1, 4_MiB);
  ASSERT_TRUE(allocator_->pins().pin(block).is_ok());
  const auto pinned = allocator_->memory().where(block + 1_MiB).value();
  EXPECT_EQ(pinned.device, DeviceId(1));
  EXPECT_EQ(pinned.block.address, block);
  EXPECT_EQ(pinned.tiers[0], 4_MiB);
  EXPECT_EQ(pinned.pins, 1u);
  ASSERT_TRUE(allocator_->pins().unpin(block).is_ok());
  ASSERT_TRUE(allocator_->hints().evict({&block, 1}).is_ok());
  const auto evicted = allocator_->memory().where(block).value();
  EXPECT_EQ(evicted.tiers[0], Bytes());
  EXPECT_EQ(evicted.tiers[2], 4_MiB) << "in host memory";
  EXPECT_EQ(evicted.pins, 0u);
}

}  // namespace
}  // namespace tessera
