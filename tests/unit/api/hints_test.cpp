// Whole tags, and blocks evicted only on command.
#include <gtest/gtest.h>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

class HintsTest : public AllocatorMachine {
 protected:
  Address tagged(const char* tag, Bytes bytes, DeviceId device = DeviceId()) {
    EXPECT_TRUE(TagStack::push(allocator_->tags().intern(tag).value()).is_ok());
    const Address block = allocate(bytes, device);
    EXPECT_TRUE(TagStack::pop().is_ok());
    return block;
  }
  Bytes on_device(Address block) { return allocator_->memory().where(block).value().tiers[0]; }
};

TEST_F(HintsTest, SleepAndWakeCoverAllDevices) {
  start(small(32_MiB, 128_MiB));
  const Address here = tagged("weights", 4_MiB);
  const Address there = tagged("weights", 6_MiB, DeviceId(1));
  const Address other = tagged("cache", 2_MiB);
  write(here, 1, 4_MiB);
  write(other, 3, 2_MiB);
  EXPECT_EQ(allocator_->hints().sleep("weights").value().moved, 10_MiB);
  EXPECT_EQ(on_device(here), Bytes());
  EXPECT_EQ(on_device(there), Bytes());
  EXPECT_EQ(on_device(other), 2_MiB);
  EXPECT_EQ(allocator_->hints().wake("weights").value().moved, 10_MiB);
  EXPECT_TRUE(holds(here, 1, 4_MiB));
  EXPECT_TRUE(holds(other, 3, 2_MiB));
}

TEST_F(HintsTest, APushedTagGoesBeforeTheOneOfAnAllocation) {
  start(small(32_MiB, 64_MiB));
  const TagId pool = allocator_->tags().intern("pool 1").value();
  const Address block = allocator_->allocate(DeviceId(), 4_MiB, kNoStream, pool).value();
  EXPECT_EQ(allocator_->memory().where(block).value().block.tag, pool);
  const TagId weights = allocator_->tags().intern("weights").value();
  ASSERT_TRUE(TagStack::push(weights).is_ok());
  const Address pushed = allocator_->allocate(DeviceId(), 4_MiB, kNoStream, pool).value();
  ASSERT_TRUE(TagStack::pop().is_ok());
  EXPECT_EQ(allocator_->memory().where(pushed).value().block.tag, weights);
  EXPECT_EQ(allocator_->hints().sleep("pool 1").value().moved, 4_MiB);
}

TEST_F(HintsTest, AMisspelledTagIsAnError) {
  start(small(32_MiB, 64_MiB));
  tagged("weights", 4_MiB);
  EXPECT_EQ(allocator_->hints().sleep("wieghts").status().code(), Code::kNotFound);
  EXPECT_EQ(allocator_->hints().wake("wieghts").status().code(), Code::kNotFound);
}

TEST_F(HintsTest, NullMeansAllAndEmptyMeansUntagged) {
  start(small(32_MiB, 64_MiB));
  tagged("weights", 4_MiB);
  const Address plain = allocate(2_MiB);
  EXPECT_EQ(allocator_->hints().sleep("").value().moved, 2_MiB);
  EXPECT_EQ(on_device(plain), Bytes());
  EXPECT_EQ(allocator_->hints().sleep(nullptr).value().moved, 4_MiB);
  EXPECT_EQ(allocator_->hints().wake(nullptr).value().moved, 6_MiB);
}

TEST_F(HintsTest, NewBlocksOfASleepingTagAreAwake) {
  start(small(32_MiB, 64_MiB));
  const Address old = tagged("kv", 4_MiB);
  write(old, 1, 4_MiB);
  ASSERT_TRUE(allocator_->hints().sleep("kv").is_ok());
  const Address fresh = tagged("kv", 4_MiB);
  EXPECT_EQ(on_device(fresh), 4_MiB);
  EXPECT_EQ(on_device(old), Bytes());
  EXPECT_TRUE(holds(old, 1, 4_MiB));
}

TEST_F(HintsTest, ABlockFreedAsleepIsReusedAndItsBytesAreForgotten) {
  start(small(32_MiB, 64_MiB));
  const Address first = tagged("kv", 4_MiB);
  write(first, 1, 4_MiB);
  ASSERT_TRUE(allocator_->hints().sleep("kv").is_ok());
  ASSERT_TRUE(allocator_->free(first, kNoStream).is_ok());
  EXPECT_EQ(allocator_->hints().wake("kv").value().moved, Bytes());
  const Address again = tagged("kv", 4_MiB);
  EXPECT_EQ(on_device(again), 4_MiB);
  write(again, 2, 4_MiB);
  EXPECT_TRUE(holds(again, 2, 4_MiB));
}

TEST_F(HintsTest, SmallBlocksSleepWithTheirSlab) {
  start(small(32_MiB, 64_MiB));
  const Address a = tagged("kv", 4_KiB);
  const Address b = tagged("kv", 4_KiB);
  write(a, 1, 4_KiB);
  write(b, 2, 4_KiB);
  EXPECT_EQ(allocator_->hints().sleep("kv").value().stayed, Bytes());
  EXPECT_TRUE(holds(a, 1, 4_KiB));
  EXPECT_TRUE(holds(b, 2, 4_KiB));
}

TEST_F(HintsTest, WithoutAutomaticEvictionRunsOutOfMemory) {
  start(small(32_MiB, 128_MiB));
  ASSERT_TRUE(allocator_->heaps().set_automatic(false).is_ok());
  std::vector<Address> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(tagged("kv", 4_MiB));
  EXPECT_EQ(allocator_->allocate(DeviceId(), 4_MiB, kNoStream).status().code(), Code::kOutOfMemory);
  for (Address block : blocks) EXPECT_EQ(on_device(block), 4_MiB);
  ASSERT_TRUE(allocator_->hints().sleep("kv").is_ok());
  EXPECT_TRUE(allocator_->allocate(DeviceId(), 4_MiB, kNoStream).is_ok());
}

}  // namespace
}  // namespace tessera
