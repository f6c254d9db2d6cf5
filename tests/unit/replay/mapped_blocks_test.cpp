#include "lab/replay/mapped_blocks.hpp"

#include "allocator_machine.hpp"

namespace tessera {
namespace {

using MappedBlocksTest = AllocatorMachine;

TEST_F(MappedBlocksTest, ABlockIsFilledWithHandlesOfWhichTheLastMayBeSmaller) {
  start(small(32_MiB, 128_MiB));
  MappedBlocks blocks(*allocator_, 7_MiB);  // whole pages: 8 MiB
  const Address block = blocks.allocate(DeviceId(), 19_MiB).value();
  EXPECT_TRUE(blocks.contain(block));
  EXPECT_FALSE(blocks.contain(block + 8_MiB));
  const tessera_stats stats = allocator_->stats().snapshot().totals;
  EXPECT_EQ(stats.live_blocks, 3U);
  EXPECT_EQ(stats.live_bytes, (20_MiB).value());
  write(block, 7, 20_MiB);
  EXPECT_TRUE(holds(block, 7, 20_MiB)) << "one object, across its handles";
  EXPECT_TRUE(blocks.free(block).is_ok());
  EXPECT_FALSE(blocks.contain(block));
  EXPECT_EQ(allocator_->stats().snapshot().totals.live_blocks, 0U);
}

TEST_F(MappedBlocksTest, WhatDoesNotFitLeavesNothing) {
  start(small(32_MiB, 64_MiB));
  MappedBlocks blocks(*allocator_, 16_MiB);
  const Address first = blocks.allocate(DeviceId(), 64_MiB).value();
  EXPECT_EQ(blocks.allocate(DeviceId(), 64_MiB).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(allocator_->stats().snapshot().totals.live_blocks, 4U);
  EXPECT_TRUE(blocks.free(first).is_ok());
  const Result<Address> again = blocks.allocate(DeviceId(), 64_MiB);
  EXPECT_TRUE(again.is_ok()) << again.status().to_string();
  EXPECT_TRUE(blocks.free(again.value()).is_ok());
}

}  // namespace
}  // namespace tessera
