// The numbered steps before out of memory, in the order of block_cache.hpp.
#include <gtest/gtest.h>

#include <thread>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

class BlockStepsTest : public LayerTest {
 protected:
  explicit BlockStepsTest(LayerSizes sizes = {.device = 128_MiB, .host = 64_MiB})
      : LayerTest(sizes), a_(new_stream()), b_(new_stream()) {}

  Address allocate(Bytes bytes, StreamId stream, TagId tag = kTag) {
    return take(blocks().allocate(bytes, stream, tag));
  }
  void free(Address address, StreamId stream) { expect_ok(blocks().free(address, stream)); }
  // Frees on a thread that ends at once, so that the block is in the shared cache afterwards.
  void free_elsewhere(Address address, StreamId stream) {
    std::thread([&] { free(address, stream); }).join();
  }
  std::uint64_t hits() { return blocks().stats().cache_hits; }

  const StreamId a_, b_;
};

TEST_F(BlockStepsTest, Step1TakesFromTheThreadsOwnCache) {
  const Address block = allocate(2_MiB, a_);
  free(block, a_);
  EXPECT_EQ(allocate(2_MiB, a_), block);
  EXPECT_EQ(hits(), 1u);
}

// The cache line of the block's word. REQUIRES: the page is shared, like the first one.
std::uint64_t line_of_word(const Run& run, Address block) {
  const auto& page = *static_cast<SharedPage*>(run.owner.record);
  Slab& slab = *page.slab_at(block - run.address);
  return reinterpret_cast<std::uint64_t>(&slab.word(*slab.slot_at(block - slab.address(0)))) / 64;
}

TEST_F(BlockStepsTest, ThreadsThatAllocateWhatTheyFreeWriteToNoLineTogether) {
  for (const Bytes bytes : {16_B, 4_KiB, 64_KiB, 512_KiB}) {
    Address mine = allocate(bytes, a_);
    free(mine, a_);
    Address other;
    std::thread([&] {
      free(allocate(bytes, a_), a_);
      other = allocate(bytes, a_);  // as in every later pair
      free(other, a_);
    }).join();
    mine = allocate(bytes, a_);
    const Run& run = *pages().find(mine);
    ASSERT_EQ(pages().find(other), &run) << "the two take from one page";
    EXPECT_NE(line_of_word(run, mine), line_of_word(run, other)) << bytes.value();
    free(mine, a_);
  }
}

TEST_F(BlockStepsTest, Step2ReusesABlockFreedOnTheSameStreamWhileItsWorkRuns) {
  for (const Bytes bytes : {512_KiB, 2_MiB}) {
    const Address block = allocate(bytes, a_);
    const auto held = hold(a_);
    free_elsewhere(block, a_);
    EXPECT_EQ(allocate(bytes, a_), block);
  }
  EXPECT_EQ(hits(), 0u);
}

TEST_F(BlockStepsTest, Step2ReusesABlockFreedOnNoStreamForAnyStream) {
  const Address block = allocate(2_MiB, a_);
  free_elsewhere(block, kNoStream);
  EXPECT_EQ(allocate(2_MiB, b_), block);
}

TEST_F(BlockStepsTest, Step3ReusesABlockOnceAnotherStreamHasPassed) {
  const Address block = allocate(2_MiB, a_);
  auto held = hold(a_);
  free_elsewhere(block, a_);
  EXPECT_NE(allocate(2_MiB, b_), block);
  held.reset();
  expect_ok(driver().synchronize(a_));
  EXPECT_EQ(allocate(2_MiB, b_), block);
}

TEST_F(BlockStepsTest, Step3ReusesASlotOnceAnotherStreamHasPassed) {
  Address slots[4];
  for (Address& slot : slots) slot = allocate(512_KiB, a_);  // one whole slab
  auto held = hold(b_);
  free(slots[1], b_);
  for (int i = 0; i < 4; ++i) EXPECT_NE(allocate(512_KiB, a_), slots[1]);  // another one
  held.reset();
  expect_ok(driver().synchronize(b_));
  EXPECT_EQ(allocate(512_KiB, a_), slots[1]);
}

TEST_F(BlockStepsTest, Step4MakesANewRunWithRecycledFrames) {
  free(allocate(6_MiB, a_), a_);
  expect_ok(driver().synchronize(a_));
  expect_ok(blocks().trim());
  EXPECT_EQ(pages().stats().runs, 0u);
  const std::uint64_t created = driver().calls(DriverCall::kCreateFrame);
  allocate(4_MiB, b_, TagId(9));
  EXPECT_EQ(pages().stats().runs, 1u);
  EXPECT_EQ(driver().calls(DriverCall::kCreateFrame), created);
}

TEST_F(BlockStepsTest, Step5EvictsColdBlocksAndLosesNoByte) {
  const Address old = allocate(64_MiB, a_);
  expect_ok(fill(old, 77, 64_MiB, a_));
  const Address fresh = allocate(96_MiB, a_);
  expect_ok(fill(fresh, 88, 96_MiB, a_));
  EXPECT_GT(residency().figures().stats().evictions, 0u);
  EXPECT_TRUE(holds(old, 77, 64_MiB, a_));
}

TEST_F(BlockStepsTest, Step6ReleasesCachedBlocksAndRetries) {
  // 160 of 192 MiB are cached: in this thread's cache, in the shared one, and as a free slab.
  const Address one = allocate(100_MiB, a_);
  const Address two = allocate(58_MiB, a_);
  const Address small = allocate(4_KiB, a_);
  free(one, a_);
  free_elsewhere(two, a_);
  free(small, a_);
  expect_ok(driver().synchronize(a_));
  const Address block = allocate(120_MiB, b_, TagId(9));
  EXPECT_EQ(blocks().stats().single_blocks, 1u);
  EXPECT_EQ(blocks().stats().slot_pages, 0u);
  expect_ok(fill(block, 1, 120_MiB, b_));
}

TEST_F(BlockStepsTest, Step7WaitsForTheWorkOnCachedBlocks) {
  const Address one = allocate(100_MiB, a_);
  Address slots[4];
  for (Address& slot : slots) slot = allocate(512_KiB, a_);
  auto held = hold(b_);
  free(one, b_);
  for (const Address slot : slots) free(slot, b_);
  std::atomic<bool> done{false};
  std::thread other([&] {
    allocate(120_MiB, a_, TagId(9));
    done.store(true);
  });
  // The allocation has nothing left to try but to wait for an event.
  while (driver().calls(DriverCall::kSynchronizeEvent) == 0) std::this_thread::yield();
  EXPECT_FALSE(done.load());
  held.reset();
  other.join();
  EXPECT_EQ(blocks().stats().single_blocks, 1u);
  EXPECT_EQ(blocks().stats().slot_pages, 0u);
}

// A block that one thread gives back is briefly neither cached nor free; that must not cause a failure.
TEST_F(BlockStepsTest, ThreadsShortOfMemoryWaitForBlocksBeingReleased) {
  for (int round = 0; round < 20; ++round) {
    // Each needs the other's tag's cached blocks to be given back, and both fit together.
    free(allocate(90_MiB, a_, TagId(5)), kNoStream);
    free(allocate(90_MiB, b_, TagId(6)), kNoStream);
    std::thread other([&] { free(allocate(80_MiB, a_, TagId(7)), kNoStream); });
    free(allocate(80_MiB, b_, TagId(8)), kNoStream);
    other.join();
  }
}

TEST_F(BlockStepsTest, Step8ReportsLiveBytes) {
  allocate(128_MiB, a_);
  const auto refused = blocks().allocate(100_MiB, a_, kTag);
  EXPECT_EQ(refused.status().code(), Code::kOutOfMemory);
  EXPECT_NE(refused.status().message().find("134217728 bytes in 1 live blocks"), std::string::npos)
      << refused.status().message();
  EXPECT_EQ(blocks().stats().live_blocks, 1u);
}

TEST_F(BlockStepsTest, ADestroyedStreamsBlocksServeItsNamesakeOnlyWhenItsWorkIsOver) {
  const StreamId gone = take(driver().create_stream(DeviceId(0)));
  const Address block = allocate(2_MiB, gone);
  const Address slot = allocate(512_KiB, gone);
  auto held = hold(gone);
  free(block, gone);
  free(slot, gone);
  expect_ok(blocks().retire(gone));
  // A new stream that reuses the old handle.
  EXPECT_NE(allocate(2_MiB, gone), block);
  EXPECT_NE(allocate(512_KiB, gone), slot);
  held.reset();
  expect_ok(driver().synchronize(gone));
  EXPECT_EQ(allocate(2_MiB, gone), block);
  expect_ok(driver().destroy_stream(gone));
}

// Its last fence would have to be an event of this device, which it does not accept; then the device was synchronised.
TEST_F(BlockStepsTest, TheEndOfAnotherDevicesStreamIsNotWaitedFor) {
  const StreamId elsewhere(0x5eaf00d);
  const auto held = hold(a_);
  expect_ok(blocks().retire(elsewhere));
}

class WarmLimitTest : public BlockStepsTest {
 protected:
  WarmLimitTest() : BlockStepsTest({.device = 128_MiB, .host = 64_MiB, .blocks = {.warm_limit = 8_MiB}}) {}
};

TEST_F(WarmLimitTest, CachedBlocksAboveTheLimitGoBackOnceTheirWorkIsOver) {
  Address made[16];
  for (Address& block : made) block = allocate(4_MiB, a_);
  auto held = hold(a_);
  for (const Address block : made) free(block, a_);
  EXPECT_GT(blocks().stats().cached_bytes, 8_MiB);  // all still in use
  EXPECT_EQ(pages().stats().runs, 16u);
  held.reset();
  for (Address& block : made) block = allocate(4_MiB, a_);
  expect_ok(driver().synchronize(a_));
  for (const Address block : made) free(block, kNoStream);
  EXPECT_LE(blocks().stats().cached_bytes, 8_MiB);
  EXPECT_LT(pages().stats().runs, 16u);
}

}  // namespace
}  // namespace tessera
