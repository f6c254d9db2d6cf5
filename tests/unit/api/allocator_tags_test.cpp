// Whole tags, blocks of several streams, and blocks that leave only when told to.
#include <gtest/gtest.h>

#include "allocator_machine.hpp"
#include "held_kernel.hpp"

namespace tessera {
namespace {

class AllocatorTagsTest : public AllocatorMachine {
 protected:
  Address tagged(const char* tag, Bytes bytes, DeviceId device = DeviceId()) {
    EXPECT_TRUE(TagStack::push(allocator_->tags().intern(tag).value()).is_ok());
    const Address block = allocate(bytes, device);
    EXPECT_TRUE(TagStack::pop().is_ok());
    return block;
  }
  Bytes on_device(Address block) { return allocator_->query(block).value().tiers[0]; }
};

TEST_F(AllocatorTagsTest, SleepAndWakeGoThroughAllDevices) {
  start(small(32_MiB, 128_MiB));
  const Address here = tagged("weights", 4_MiB);
  const Address there = tagged("weights", 6_MiB, DeviceId(1));
  const Address other = tagged("cache", 2_MiB);
  write(here, 1, 4_MiB);
  write(other, 3, 2_MiB);
  EXPECT_EQ(allocator_->sleep("weights").value().moved, 10_MiB);
  EXPECT_EQ(on_device(here), Bytes());
  EXPECT_EQ(on_device(there), Bytes());
  EXPECT_EQ(on_device(other), 2_MiB);
  EXPECT_EQ(allocator_->wake("weights").value().moved, 10_MiB);
  EXPECT_TRUE(holds(here, 1, 4_MiB));
  EXPECT_TRUE(holds(other, 3, 2_MiB));
}

TEST_F(AllocatorTagsTest, AMisspelledTagIsAnError) {
  start(small(32_MiB, 64_MiB));
  tagged("weights", 4_MiB);
  EXPECT_EQ(allocator_->sleep("wieghts").status().code(), Code::kNotFound);
  EXPECT_EQ(allocator_->wake("wieghts").status().code(), Code::kNotFound);
}

TEST_F(AllocatorTagsTest, NullMeansAllAndEmptyMeansUntagged) {
  start(small(32_MiB, 64_MiB));
  tagged("weights", 4_MiB);
  const Address plain = allocate(2_MiB);
  EXPECT_EQ(allocator_->sleep("").value().moved, 2_MiB);
  EXPECT_EQ(on_device(plain), Bytes());
  EXPECT_EQ(allocator_->sleep(nullptr).value().moved, 4_MiB);
  EXPECT_EQ(allocator_->wake(nullptr).value().moved, 6_MiB);
}

TEST_F(AllocatorTagsTest, NewBlocksOfASleepingTagAreAwake) {
  start(small(32_MiB, 64_MiB));
  const Address old = tagged("kv", 4_MiB);
  write(old, 1, 4_MiB);
  ASSERT_TRUE(allocator_->sleep("kv").is_ok());
  const Address fresh = tagged("kv", 4_MiB);
  EXPECT_EQ(on_device(fresh), 4_MiB);
  EXPECT_EQ(on_device(old), Bytes());
  EXPECT_TRUE(holds(old, 1, 4_MiB));
}

TEST_F(AllocatorTagsTest, ABlockFreedAsleepIsReusedAndItsBytesAreForgotten) {
  start(small(32_MiB, 64_MiB));
  const Address first = tagged("kv", 4_MiB);
  write(first, 1, 4_MiB);
  ASSERT_TRUE(allocator_->sleep("kv").is_ok());
  ASSERT_TRUE(allocator_->free(first, kNoStream).is_ok());
  EXPECT_EQ(allocator_->wake("kv").value().moved, Bytes());
  const Address again = tagged("kv", 4_MiB);
  EXPECT_EQ(on_device(again), 4_MiB);
  write(again, 2, 4_MiB);
  EXPECT_TRUE(holds(again, 2, 4_MiB));
}

TEST_F(AllocatorTagsTest, SmallBlocksSleepWithTheirSlab) {
  start(small(32_MiB, 64_MiB));
  const Address a = tagged("kv", 4_KiB);
  const Address b = tagged("kv", 4_KiB);
  write(a, 1, 4_KiB);
  write(b, 2, 4_KiB);
  EXPECT_EQ(allocator_->sleep("kv").value().stayed, Bytes());
  EXPECT_TRUE(holds(a, 1, 4_KiB));
  EXPECT_TRUE(holds(b, 2, 4_KiB));
}

TEST_F(AllocatorTagsTest, OneThatLeavesOnlyWhenToldRunsOutInstead) {
  start(small(32_MiB, 128_MiB));
  ASSERT_TRUE(allocator_->set_automatic(false).is_ok());
  std::vector<Address> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(tagged("kv", 4_MiB));
  EXPECT_EQ(allocator_->allocate(DeviceId(), 4_MiB, kNoStream).status().code(),
            Code::kOutOfMemory);
  for (Address block : blocks) EXPECT_EQ(on_device(block), 4_MiB);
  ASSERT_TRUE(allocator_->sleep("kv").is_ok());
  EXPECT_TRUE(allocator_->allocate(DeviceId(), 4_MiB, kNoStream).is_ok());
}

TEST_F(AllocatorTagsTest, ABlockOfTwoStreamsWaitsForBothBeforeItIsReused) {
  start(small(32_MiB, 64_MiB));
  const StreamId one = sim_->create_stream(DeviceId()).value();
  const StreamId two = sim_->create_stream(DeviceId()).value();
  HeldKernel work;
  const Address block = allocator_->allocate(DeviceId(), 4_MiB, one).value();
  ASSERT_TRUE(work.launch(*sim_, two).is_ok());
  const StreamId streams[] = {one, two};
  ASSERT_TRUE(allocator_->free_after(block, streams).is_ok());
  EXPECT_NE(allocator_->allocate(DeviceId(), 4_MiB, one).value(), block);
  EXPECT_NE(allocator_->allocate(DeviceId(), 4_MiB, two).value(), block);
  EXPECT_TRUE(sim_->synchronize(one).is_ok()) << "no stream waits for another";
  work.let_go();
  ASSERT_TRUE(sim_->synchronize(DeviceId()).is_ok());
  ASSERT_TRUE(allocator_->trim().is_ok());
  EXPECT_EQ(allocator_->stats().totals.live_blocks, 2U);
  for (StreamId stream : streams) {
    EXPECT_TRUE(allocator_->retire_stream(stream).is_ok());
    EXPECT_TRUE(sim_->destroy_stream(stream).is_ok());
  }
}

TEST_F(AllocatorTagsTest, AfterOneStreamIsAnOrdinaryFree) {
  start(small(32_MiB, 64_MiB));
  const StreamId streams[] = {StreamId(), StreamId()};
  const Address block = allocator_->allocate(DeviceId(), 4_MiB, StreamId()).value();
  ASSERT_TRUE(allocator_->free_after(block, streams).is_ok());
  EXPECT_EQ(allocator_->allocate(DeviceId(), 4_MiB, StreamId()).value(), block);
  EXPECT_EQ(allocator_->free_after(Address(4096), streams).code(), Code::kNotFound);
}

}  // namespace
}  // namespace tessera
