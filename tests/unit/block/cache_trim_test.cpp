#include "block/cache_trim.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "block_steps_fixture.hpp"

namespace tessera {
namespace {

using CacheTrimTest = BlockStepsTest;

TEST_F(CacheTrimTest, Step6ReleasesCachedBlocksAndRetries) {
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

TEST_F(CacheTrimTest, Step7WaitsForTheWorkOnCachedBlocks) {
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
TEST_F(CacheTrimTest, ThreadsShortOfMemoryWaitForBlocksBeingReleased) {
  for (int round = 0; round < 20; ++round) {
    // Each needs the other's tag's cached blocks to be given back, and both fit together.
    free(allocate(90_MiB, a_, TagId(5)), kNoStream);
    free(allocate(90_MiB, b_, TagId(6)), kNoStream);
    std::thread other([&] { free(allocate(80_MiB, a_, TagId(7)), kNoStream); });
    free(allocate(80_MiB, b_, TagId(8)), kNoStream);
    other.join();
  }
}

// Blocks keep their addresses, so a page with one live block stays. Best fit in one address space, in which each block
// lies behind the one before it, touches these pages.
TEST_F(CacheTrimTest, AfterNineOfTenBlocksAreFreedATrimHoldsNoMoreThanBestFitTouches) {
  constexpr std::size_t kBlocks = 800;  // 50 MiB
  constexpr Bytes kBlock = 64_KiB;
  const auto remaining = [&](auto stays) {
    std::vector<Address> all;
    std::set<std::uint64_t> touched;
    for (std::size_t i = 0; i < kBlocks; ++i) all.push_back(allocate(kBlock, a_));
    for (std::size_t i = 0; i < kBlocks; ++i) {
      if (stays(i)) touched.insert(i * kBlock / kBasePage);
      if (!stays(i)) free(std::exchange(all[i], Address()), a_);
    }
    expect_ok(driver().synchronize(a_));
    expect_ok(blocks().trim());
    const Bytes held = stack_->layers.device.usage().used;
    for (const Address block : all) {
      if (block != Address()) free(block, a_);
    }
    expect_ok(driver().synchronize(a_));
    expect_ok(blocks().trim());
    return std::pair(held, kBasePage * touched.size());
  };
  const auto [scattered, all_pages] = remaining([](std::size_t i) { return i % 10 == 0; });
  EXPECT_EQ(all_pages, 50_MiB);
  EXPECT_LE(scattered, all_pages);
  EXPECT_GE(scattered, kBlock * (kBlocks / 10));
  const auto [together, few_pages] = remaining([](std::size_t i) { return i < kBlocks / 10; });
  EXPECT_EQ(few_pages, 6_MiB);
  EXPECT_LE(together, few_pages);
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
