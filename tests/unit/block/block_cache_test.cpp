#include "block/block_cache.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

class BlockCacheTest : public LayerTest {
 protected:
  BlockCacheTest() : stream_(new_stream()) {}

  Address allocate(Bytes bytes) { return take(blocks().allocate(bytes, stream_, kTag)); }
  void free(Address address) { expect_ok(blocks().free(address, stream_)); }
  std::string why_not_free(Address address) {
    const Status status = blocks().free(address, stream_);
    EXPECT_EQ(status.code(), Code::kNotFound);
    return std::string(status.message());
  }

  const StreamId stream_;
};

TEST_F(BlockCacheTest, BlocksOfEverySizeAreAlignedApartAndUsable) {
  std::vector<std::pair<Address, Bytes>> made;
  for (const Bytes bytes : {1_B, 512_B, 513_B, 4_KiB, 300_KiB, 1000_KiB, 1_MiB, 3_MiB, 33_MiB}) {
    made.emplace_back(allocate(bytes), bytes);
    EXPECT_EQ(made.back().first.value() % kBlockAlignment.value(), 0u);
  }
  std::uint8_t value = 1;
  for (const auto& [address, bytes] : made) expect_ok(fill(address, value++, bytes, stream_));
  value = 1;
  for (const auto& [address, bytes] : made) EXPECT_TRUE(holds(address, value++, bytes, stream_));
  for (const auto& [address, bytes] : made) free(address);
}

TEST_F(BlockCacheTest, AFreedBlockIsReusedOnItsStreamWithoutALockOrADriverCall) {
  for (const Bytes bytes : {512_B, 1_MiB, 64_MiB}) {
    const Address first = allocate(bytes);
    free(first);
    const std::uint64_t hits = blocks().stats().cache_hits;
    const std::uint64_t calls = driver().total_calls();
    const Address second = allocate(bytes);
    EXPECT_EQ(second, first);
    free(second);
    EXPECT_EQ(blocks().stats().cache_hits, hits + 1);
    EXPECT_EQ(driver().total_calls(), calls);
  }
}

TEST_F(BlockCacheTest, FindsABlockByAnyOfItsBytes) {
  for (const Bytes bytes : {700_B, 3_MiB}) {
    const Address address = allocate(bytes);
    const BlockInfo info = take(blocks().find(address + (bytes - 1_B)));
    EXPECT_EQ(info.address, address);
    EXPECT_EQ(info.bytes, bytes);
    EXPECT_GE(info.capacity, bytes);
    EXPECT_EQ(info.tag, kTag);
    EXPECT_EQ(info.run, pages().find(address));
    EXPECT_EQ(blocks().find(address + bytes).status().code(), Code::kNotFound);
    free(address);
    EXPECT_EQ(blocks().find(address).status().code(), Code::kNotFound);
  }
}

TEST_F(BlockCacheTest, TheGenerationGrowsWithEachReuse) {
  const Address first = allocate(2_MiB);
  const std::uint64_t generation = take(blocks().find(first)).generation;
  free(first);
  ASSERT_EQ(allocate(2_MiB), first);
  EXPECT_EQ(take(blocks().find(first)).generation, generation + 1);
  free(first);
}

TEST_F(BlockCacheTest, ALookUpFindsRunsOfLiveBlocksOnly) {
  const Address address = allocate(4_KiB);
  {
    const BlockCache::Lookup lookup(blocks());
    EXPECT_EQ(lookup.run_of(address + 4095_B), pages().find(address));
    EXPECT_EQ(lookup.run_of(address + 5_KiB), nullptr);  // a slot that is not live
    EXPECT_EQ(lookup.run_of(Address(64)), nullptr);
    EXPECT_EQ(lookup.run_of(pages().high()), nullptr);
    EXPECT_EQ(lookup.block_of(address)->address, address);
  }
  free(address);
}

TEST_F(BlockCacheTest, ADoubleFreeIsRefusedWithASentence) {
  for (const Bytes bytes : {4_KiB, 2_MiB}) {
    const Address address = allocate(bytes);
    free(address);
    EXPECT_NE(why_not_free(address).find("already free"), std::string::npos);
  }
}

TEST_F(BlockCacheTest, AnInteriorAddressIsRefusedWithASentence) {
  for (const Bytes bytes : {4_KiB, 2_MiB}) {
    const Address address = allocate(bytes);
    EXPECT_NE(why_not_free(address + 512_B).find("512 bytes into"), std::string::npos);
    free(address);
  }
}

TEST_F(BlockCacheTest, AForeignAddressIsRefusedWithASentence) {
  EXPECT_NE(why_not_free(Address(0)).find("not an address from Tessera"), std::string::npos);
  EXPECT_NE(why_not_free(Address(0x1234)).find("not an address from Tessera"), std::string::npos);
  const Address unused(pages().high().value() - kBasePage.value());
  EXPECT_NE(why_not_free(unused).find("no block begins"), std::string::npos);
}

TEST_F(BlockCacheTest, ZeroBytesAreInvalidAndHugeOnesOutOfMemory) {
  const auto code_of = [&](Bytes bytes) { return blocks().allocate(bytes, stream_, kTag).status().code(); };
  EXPECT_EQ(code_of(Bytes()), Code::kInvalidArgument);
  for (const std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - 511, std::uint64_t{1} << 63,
                                    (64_TiB).value(), (64_TiB).value() + 1, (5_GiB).value()}) {
    EXPECT_EQ(code_of(Bytes(bytes)), Code::kOutOfMemory) << bytes;
  }
}

TEST_F(BlockCacheTest, BlocksOfDifferentTagsShareNoPage) {
  const Address a = take(blocks().allocate(512_B, stream_, TagId(1)));
  const Address b = take(blocks().allocate(512_B, stream_, TagId(2)));
  EXPECT_NE(pages().find(a), pages().find(b));
  EXPECT_EQ(pages().find(a)->tag, TagId(1));
  free(a);
  EXPECT_NE(take(blocks().allocate(512_B, stream_, TagId(2))), a);
}

TEST_F(BlockCacheTest, AFailureToBackABlockUndoesTheAllocation) {
  driver().fail({.call = DriverCall::kMap, .nth = 1, .status = Status(Code::kDriver, "broken", 2)});
  const auto refused = blocks().allocate(2_MiB, stream_, kTag);
  EXPECT_EQ(refused.status().code(), Code::kDriver);
  EXPECT_EQ(blocks().stats().live_blocks, 0u);
  EXPECT_EQ(blocks().stats().allocations, 0u);
  driver().clear();
  expect_valid();
  free(allocate(2_MiB));
}

TEST_F(BlockCacheTest, BlocksOfAnEndedThreadServeOtherThreads) {
  Address address;
  std::thread([&] {
    address = allocate(2_MiB);
    free(address);
  }).join();
  EXPECT_EQ(allocate(2_MiB), address);
  free(address);
}

TEST_F(BlockCacheTest, ABlockMayBeFreedByAnyThread) {
  const Address address = allocate(4_KiB);
  std::thread([&] { free(address); }).join();
  EXPECT_EQ(blocks().stats().live_blocks, 0u);
  std::thread([&] { why_not_free(address); }).join();
}

TEST_F(BlockCacheTest, MayBeDestroyedWithLiveBlocksAndBeforeItsThreads) {
  std::thread user([&] { free(allocate(2_MiB)); });
  user.join();
  allocate(2_MiB);
  allocate(512_B);
  stack_->layers.add_blocks();
  EXPECT_EQ(pages().stats().runs, 0u);
}

}  // namespace
}  // namespace tessera
