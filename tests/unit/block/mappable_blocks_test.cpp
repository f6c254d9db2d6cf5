// Blocks that the program maps: bytes stay with the block, wherever it is mapped.
#include <gtest/gtest.h>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

class MappableBlocksTest : public LayerTest {
 protected:
  MappableBlocksTest() : LayerTest({.device = 32_MiB, .host = 128_MiB, .heap = 1_GiB}), stream_(new_stream()) {}

  MappableBlocks& mappable() { return blocks().mappable(); }
  Address mapped(Bytes bytes, Address at) { return take(mappable().move(take(mappable().create(bytes, kTag)), at)); }

  const StreamId stream_;
};

TEST_F(MappableBlocksTest, BytesStayWithTheBlockWhenItIsMappedElsewhere) {
  const Address here = take(pages().reserve(4_MiB)), there = take(pages().reserve(4_MiB));
  const Address block = mapped(4_MiB, here);
  EXPECT_EQ(block, here);
  expect_ok(fill(here, 7, 4_MiB, stream_));
  const Address own = take(mappable().move(here, std::nullopt));
  EXPECT_EQ(blocks().find(here).status().code(), Code::kNotFound);
  EXPECT_EQ(take(mappable().move(own, there)), there);
  EXPECT_TRUE(holds(there, 7, 4_MiB, stream_));
  EXPECT_EQ(take(blocks().find(there + 3_MiB)).address, there);
  expect_valid();
  expect_ok(mappable().destroy(there));
  for (const Address range : {here, there}) expect_ok(pages().unreserve(range));
}

TEST_F(MappableBlocksTest, MoreThanTheDeviceHoldsIsEvictedWhereverItIs) {
  std::vector<Address> ranges;
  for (std::uint8_t i = 0; i < 6; ++i) {
    ranges.push_back(take(pages().reserve(12_MiB)));
    mapped(12_MiB, ranges.back());
    expect_ok(fill(ranges.back(), i, 12_MiB, stream_));
  }
  const Address own = take(mappable().move(ranges[0], std::nullopt));  // part of it is away, or all
  EXPECT_EQ(take(mappable().move(own, ranges[0])), ranges[0]);
  for (std::uint8_t i = 0; i < 6; ++i) EXPECT_TRUE(holds(ranges[i], i, 12_MiB, stream_)) << int{i};
  for (const Address range : ranges) {
    expect_ok(mappable().destroy(range));
    expect_ok(pages().unreserve(range));
  }
}

TEST_F(MappableBlocksTest, TheyCountAsLiveAndTakeNoDeviceMemoryUntilTheyAreMapped) {
  const Address own = take(mappable().create(8_MiB, kTag));
  EXPECT_EQ(blocks().stats().live_bytes, 8_MiB);
  EXPECT_EQ(blocks().stats().mappable_blocks, 1u);
  EXPECT_EQ(blocks().tags().front().live_bytes, 8_MiB);
  EXPECT_EQ(residency().figures().live_bytes(), 8_MiB);
  EXPECT_EQ(stack_->layers.device.usage().used, Bytes());
  const Address range = take(pages().reserve(8_MiB));
  take(mappable().move(own, range));
  EXPECT_EQ(stack_->layers.device.usage().used, 8_MiB);
  expect_ok(mappable().destroy(range));
  EXPECT_EQ(blocks().stats().live_bytes, Bytes());
  EXPECT_EQ(blocks().stats().peak_live_bytes, 8_MiB);
  EXPECT_EQ(blocks().stats().frees, 1u);
  expect_ok(pages().unreserve(range));
}

TEST_F(MappableBlocksTest, WhatIsNoSuchBlockIsRefusedAndNothingIsLost) {
  EXPECT_EQ(mappable().create(3_MiB, kTag).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(mappable().create(1_MiB, kTag).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(mappable().create(Bytes(), kTag).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(mappable().create(512_MiB, kTag).status().code(), Code::kOutOfMemory);
  const Address plain = take(blocks().allocate(4_MiB, stream_, kTag));
  const Address range = take(pages().reserve(4_MiB));
  const Address block = mapped(4_MiB, range);
  expect_ok(fill(block, 9, 4_MiB, stream_));
  EXPECT_EQ(blocks().free(block, stream_).code(), Code::kNotFound);
  EXPECT_EQ(mappable().destroy(plain).code(), Code::kNotFound);
  EXPECT_EQ(mappable().destroy(block + 2_MiB).code(), Code::kNotFound);
  EXPECT_EQ(mappable().move(plain, std::nullopt).status().code(), Code::kNotFound);
  EXPECT_EQ(mappable().move(block, plain).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(holds(block, 9, 4_MiB, stream_));
  expect_ok(mappable().destroy(block));
  EXPECT_EQ(mappable().destroy(block).code(), Code::kNotFound);
  expect_ok(blocks().free(plain, stream_));
  expect_ok(pages().unreserve(range));
}

TEST_F(MappableBlocksTest, WithoutRoomAndEvictionABlockStaysWhereItIs) {
  const Address plain = take(blocks().allocate(28_MiB, stream_, kTag));
  const Address range = take(pages().reserve(8_MiB));
  const Address own = take(mappable().create(8_MiB, kTag));
  expect_ok(residency().automatic().set(false));
  EXPECT_EQ(mappable().move(own, range).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(take(blocks().find(own)).address, own);
  expect_ok(residency().automatic().set(true));
  EXPECT_EQ(take(mappable().move(own, range)), range);
  expect_ok(mappable().destroy(range));
  expect_ok(blocks().free(plain, stream_));
  expect_ok(pages().unreserve(range));
}

TEST_F(MappableBlocksTest, ABlockInACallIsBusy) {
  const Address range = take(pages().reserve(2_MiB));
  const Address block = mapped(2_MiB, range);
  Run* const runs[] = {take(blocks().find(block)).run};
  Use use;
  expect_ok(residency().begin_use(runs, kNoStream, Access::kRead, Use::Kind::kHold, use));
  EXPECT_EQ(mappable().destroy(block).code(), Code::kBusy);
  EXPECT_EQ(mappable().move(block, std::nullopt).status().code(), Code::kBusy);
  EXPECT_TRUE(blocks().find(block).is_ok());
  residency().end_use(runs, kNoStream, use);
  expect_ok(mappable().destroy(block));
  expect_ok(pages().unreserve(range));
}

}  // namespace
}  // namespace tessera
