#include "block/located_block.hpp"

#include <gtest/gtest.h>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

class LocatedBlockTest : public LayerTest {
 protected:
  Address allocate(Bytes bytes) { return take(blocks().allocate(bytes, kNoStream, TagId(1))); }
  void free(Address address) { expect_ok(blocks().free(address, kNoStream)); }
};

TEST_F(LocatedBlockTest, EveryByteOfTheCapacityBelongsToTheBlock) {
  for (const Bytes bytes : {700_B, 3_MiB}) {
    const Address address = allocate(bytes);
    Run* const run = pages().find(address);
    const auto block = locate(run, address + (bytes - 1_B));
    ASSERT_TRUE(block);
    EXPECT_EQ(block->run, run);
    EXPECT_EQ(block->address, address);
    EXPECT_GE(block->capacity, bytes);
    EXPECT_EQ(locate(run, address + (block->capacity - 1_B))->address, address);
    EXPECT_EQ(block->owner->kind, bytes == 700_B ? OwnerKind::kSlab : OwnerKind::kSingle);
    free(address);
  }
}

TEST_F(LocatedBlockTest, OnlyBytesThatWereAskedForLiveAndOnlyUntilTheFree) {
  for (const Bytes bytes : {700_B, 3_MiB}) {
    const Address address = allocate(bytes);
    Run* const run = pages().find(address);
    EXPECT_TRUE(lives_at(run, address + (bytes - 1_B)));
    EXPECT_FALSE(lives_at(run, address + bytes));
    EXPECT_EQ(live_block_at(run, address)->bytes, bytes);
    EXPECT_FALSE(live_block_at(run, address + bytes));
    free(address);
    EXPECT_FALSE(lives_at(run, address));
    EXPECT_TRUE(locate(run, address)) << "it is in a cache";
  }
}

TEST_F(LocatedBlockTest, WithoutARunThereIsNoBlock) {
  EXPECT_FALSE(locate(nullptr, Address(64)));
  EXPECT_FALSE(lives_at(nullptr, Address(64)));
}

}  // namespace
}  // namespace tessera
