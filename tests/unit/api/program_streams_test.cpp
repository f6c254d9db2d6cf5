#include <gtest/gtest.h>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

using ProgramStreamsTest = AllocatorMachine;

TEST_F(ProgramStreamsTest, AWaitOfTheProgramEndsTheWorkBeforeIt) {
  start(small(16_MiB, 64_MiB));
  const StreamId stream = sim_->create_stream(DeviceId()).value();
  const Address block = allocate(4_MiB);
  EXPECT_EQ(allocator_->streams().before_wait(DeviceId(1)), 0u) << "a device without a heap";
  ASSERT_TRUE(allocator_->uses().touch(block, stream, Access::kWrite).is_ok());
  const std::uint64_t before = allocator_->streams().before_wait(DeviceId());
  EXPECT_GT(before, 0u);
  ASSERT_TRUE(allocator_->streams().synchronize(DeviceId()).is_ok());
  allocator_->streams().note_waited(DeviceId(), stream, before);
  DeviceHeap& heap = *allocator_->heaps().made(DeviceId());
  StreamTable& streams = heap.residency().streams();
  EXPECT_TRUE(streams.passed(std::uint64_t{1} << streams.slot_of(stream), Epoch(before)));
}

TEST_F(ProgramStreamsTest, ARetiredStreamLeavesItsFreedBlocksToOthers) {
  start(small(16_MiB, 64_MiB));
  const StreamId one = sim_->create_stream(DeviceId()).value(), two = sim_->create_stream(DeviceId()).value();
  const Address block = allocator_->allocate(DeviceId(), 4_MiB, one).value();
  ASSERT_TRUE(allocator_->free(block, one).is_ok());
  ASSERT_TRUE(allocator_->streams().retire(one).is_ok());
  ASSERT_TRUE(sim_->destroy_stream(one).is_ok());
  EXPECT_TRUE(allocator_->allocate(DeviceId(), 16_MiB, two).is_ok()) << "its memory is free again";
}

}  // namespace
}  // namespace tessera
