// Blocks that the program maps, in the complete allocator: memory answers, tags, sleep, and out of memory.
#include <gtest/gtest.h>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

class AllocatorMapping : public AllocatorMachine {
 protected:
  Address mapped(Bytes bytes) {
    const Address range = allocator_->reserve_addresses(DeviceId(), bytes).value();
    const Address own = allocator_->create_mappable(DeviceId(), bytes).value();
    EXPECT_EQ(allocator_->move_mappable(own, range).value(), range);
    return range;
  }
  void end(Address block) {
    EXPECT_TRUE(allocator_->destroy_mappable(block).is_ok());
    EXPECT_TRUE(allocator_->unreserve_addresses(block).is_ok());
  }
};

TEST_F(AllocatorMapping, TheyMoveWithAllOtherBlocks) {
  start(small(32_MiB, 128_MiB));
  const Address first = mapped(16_MiB), second = mapped(16_MiB), plain = allocate(16_MiB);
  write(first, 1, 16_MiB);
  write(second, 2, 16_MiB);
  write(plain, 3, 16_MiB);
  EXPECT_TRUE(holds(first, 1, 16_MiB));
  EXPECT_TRUE(holds(second, 2, 16_MiB));
  EXPECT_TRUE(holds(plain, 3, 16_MiB));
  end(first);
  EXPECT_TRUE(holds(second, 2, 16_MiB));
  end(second);
}

TEST_F(AllocatorMapping, ACreatedBlockLowersWhatIsFreeAsAnAllocatedOneDoes) {
  start(small(32_MiB, 128_MiB));
  const Address plain = allocate(4_MiB);
  const Bytes before = allocator_->memory_info(DeviceId()).value().free;
  const Address own = allocator_->create_mappable(DeviceId(), 8_MiB).value();
  EXPECT_EQ(allocator_->memory_info(DeviceId()).value().free, before - 8_MiB);
  EXPECT_TRUE(allocator_->destroy_mappable(own).is_ok());
  EXPECT_EQ(allocator_->memory_info(DeviceId()).value().free, before);
  EXPECT_TRUE(allocator_->free(plain, kNoStream).is_ok());
}

TEST_F(AllocatorMapping, ItsTagSleepsAndWakesMappedOrNot) {
  start(small(32_MiB, 128_MiB));
  ASSERT_TRUE(TagStack::push(allocator_->tags().intern("weights").value()).is_ok());
  const Address block = mapped(6_MiB);
  ASSERT_TRUE(TagStack::pop().is_ok());
  write(block, 5, 6_MiB);
  EXPECT_EQ(allocator_->sleep("weights").value().moved, 6_MiB);
  const Address own = allocator_->move_mappable(block, std::nullopt).value();
  EXPECT_EQ(allocator_->wake("weights").value().moved, 6_MiB);
  EXPECT_EQ(allocator_->move_mappable(own, block).value(), block);
  EXPECT_TRUE(holds(block, 5, 6_MiB));
  end(block);
}

TEST_F(AllocatorMapping, WhatNeverFitsIsRefusedWhenItIsCreated) {
  start(small(32_MiB, 64_MiB));
  EXPECT_EQ(allocator_->create_mappable(DeviceId(), 34_MiB).status().code(), Code::kOutOfMemory);
  std::vector<Address> blocks;
  Result<Address> made = allocator_->create_mappable(DeviceId(), 16_MiB);
  for (; made.is_ok() && blocks.size() < 100; made = allocator_->create_mappable(DeviceId(), 16_MiB)) {
    blocks.push_back(made.value());
  }
  EXPECT_EQ(made.status().code(), Code::kOutOfMemory);
  EXPECT_GE(blocks.size(), 5u);
  for (const Address block : blocks) EXPECT_TRUE(allocator_->destroy_mappable(block).is_ok());
  EXPECT_EQ(allocator_->destroy_mappable(Address(64)).code(), Code::kNotFound);
  EXPECT_EQ(allocator_->move_mappable(Address(64), std::nullopt).status().code(), Code::kNotFound);
  EXPECT_EQ(allocator_->unreserve_addresses(Address(64)).code(), Code::kNotFound);
}

TEST_F(AllocatorMapping, CachedBlocksMakeRoomInTheHeap) {
  start(small(32_MiB, 0_B));
  const Address plain = allocate(24_MiB);
  EXPECT_TRUE(allocator_->free(plain, kNoStream).is_ok());
  const auto block = allocator_->create_mappable(DeviceId(), 24_MiB);
  ASSERT_TRUE(block.is_ok()) << block.status().to_string();
  EXPECT_TRUE(allocator_->destroy_mappable(block.value()).is_ok());
}

}  // namespace
}  // namespace tessera
