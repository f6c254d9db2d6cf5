#include <gtest/gtest.h>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

using PinsTest = AllocatorMachine;

TEST_F(PinsTest, APinnedBlockStaysUntilItsLastUnpin) {
  start(small(16_MiB, 64_MiB));
  const Address block = allocate(4_MiB);
  ASSERT_TRUE(allocator_->pins().pin(block).is_ok());
  ASSERT_TRUE(allocator_->pins().pin(block + 1_MiB).is_ok());
  ASSERT_TRUE(allocator_->pins().unpin(block).is_ok());
  EXPECT_EQ(allocator_->hints().evict({&block, 1}).code(), Code::kBusy);
  ASSERT_TRUE(allocator_->pins().unpin(block).is_ok());
  EXPECT_EQ(allocator_->pins().unpin(block).code(), Code::kInvalidArgument);
  EXPECT_TRUE(allocator_->hints().evict({&block, 1}).is_ok());
}

TEST_F(PinsTest, AKeptBlockStaysUntilItsUnkeepAndIsReported) {
  start(small(16_MiB, 64_MiB));
  const Address block = allocate(4_MiB);
  ASSERT_TRUE(allocator_->pins().keep(block, "cuGraphLaunch").is_ok());
  EXPECT_EQ(allocator_->hints().evict({&block, 1}).code(), Code::kBusy);
  ASSERT_EQ(allocator_->stats().snapshot().exposures.size(), 1u);
  EXPECT_EQ(allocator_->stats().snapshot().exposures[0].reason, "cuGraphLaunch");
  ASSERT_TRUE(allocator_->pins().unkeep(block).is_ok());
  EXPECT_TRUE(allocator_->stats().snapshot().exposures.empty());
  EXPECT_TRUE(allocator_->hints().evict({&block, 1}).is_ok());
}

TEST_F(PinsTest, AnExposedBlockStaysForGood) {
  start(small(16_MiB, 64_MiB));
  const Address block = allocate(4_MiB);
  ASSERT_TRUE(allocator_->pins().expose(block, "cuIpcGetMemHandle").is_ok());
  EXPECT_EQ(allocator_->pins().unpin(block).code(), Code::kInvalidArgument);
  EXPECT_EQ(allocator_->pins().unkeep(block).code(), Code::kInvalidArgument);
  EXPECT_EQ(allocator_->hints().evict({&block, 1}).code(), Code::kBusy);
}

}  // namespace
}  // namespace tessera
