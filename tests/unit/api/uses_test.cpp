#include <gtest/gtest.h>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

using AllocatorUsesTest = AllocatorMachine;

TEST_F(AllocatorUsesTest, AUseOfMoreThanTheDeviceIsAnErrorAtOnce) {
  start(small(32_MiB, 128_MiB));
  std::vector<Address> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(allocate(4_MiB));
  AnnouncedUse use;
  const Status status = allocator_->begin_use(blocks, StreamId(), Access::kWrite, Use::Kind::kGate, "", use);
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
}

TEST_F(AllocatorUsesTest, ABlockNamedTwiceInAUseIsUsedOnce) {
  start(small(32_MiB, 128_MiB));
  std::vector<Address> words;
  for (int i = 0; i < 10; ++i) words.insert(words.end(), 3, allocate(4_MiB));
  AnnouncedUse use;
  const Status status = allocator_->begin_use(words, StreamId(), Access::kWrite, Use::Kind::kHold, "", use);
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_NE(status.message().find("uses 40.0 MiB at once"), std::string_view::npos) << status.message();
}

TEST_F(AllocatorUsesTest, AUseOfAForeignAddressIsIgnored) {
  start(small(32_MiB, 32_MiB));
  const Address foreign(0x1000);
  EXPECT_EQ(allocator_->free(foreign, StreamId()).code(), Code::kNotFound);
  EXPECT_EQ(allocator_->pin(foreign).code(), Code::kNotFound);
  EXPECT_EQ(allocator_->touch(foreign, StreamId(), Access::kRead).code(), Code::kNotFound);
  EXPECT_EQ(allocator_->query(foreign).status().code(), Code::kNotFound);
  AnnouncedUse use;
  EXPECT_TRUE(allocator_->begin_use({&foreign, 1}, StreamId(), Access::kWrite, Use::Kind::kGate, "", use).is_ok());
  allocator_->end_use(use);
}

TEST_F(AllocatorUsesTest, OneUseMayNameBlocksOfSeveralDevices) {
  start(small(32_MiB, 64_MiB));
  const Address blocks[] = {allocate(4_MiB, DeviceId(0)), allocate(4_MiB, DeviceId(1))};
  ASSERT_TRUE(allocator_->evict(blocks).is_ok());
  AnnouncedUse use;
  ASSERT_TRUE(allocator_->begin_use(blocks, kNoStream, Access::kWrite, Use::Kind::kGate, "", use).is_ok());
  EXPECT_EQ(allocator_->evict(blocks).code(), Code::kBusy);
  allocator_->end_use(use);
  for (Address block : blocks) {
    EXPECT_EQ(allocator_->query(block).value().tiers[0], 4_MiB);
  }
  EXPECT_EQ(allocator_->query(blocks[1]).value().device, DeviceId(1));
}

}  // namespace
}  // namespace tessera
