// The numbered steps before out of memory, in the order of block_cache.hpp; 2 to 4 are in shared_cache_test.cpp, 6 and
// 7 in cache_trim_test.cpp.
#include <gtest/gtest.h>

#include "block_steps_fixture.hpp"

namespace tessera {
namespace {

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

TEST_F(BlockStepsTest, Step5EvictsColdBlocksAndLosesNoByte) {
  const Address old = allocate(64_MiB, a_);
  expect_ok(fill(old, 77, 64_MiB, a_));
  const Address fresh = allocate(96_MiB, a_);
  expect_ok(fill(fresh, 88, 96_MiB, a_));
  EXPECT_GT(residency().figures().stats().evictions, 0u);
  EXPECT_TRUE(holds(old, 77, 64_MiB, a_));
}

TEST_F(BlockStepsTest, Step8ReportsLiveBytes) {
  allocate(128_MiB, a_);
  const auto refused = blocks().allocate(100_MiB, a_, kTag);
  EXPECT_EQ(refused.status().code(), Code::kOutOfMemory);
  EXPECT_NE(refused.status().message().find("134217728 bytes in 1 live blocks"), std::string::npos)
      << refused.status().message();
  EXPECT_EQ(blocks().stats().live_blocks, 1u);
}

// Its last fence would have to be an event of this device, which it does not accept; then the device was synchronised.
TEST_F(BlockStepsTest, TheEndOfAnotherDevicesStreamIsNotWaitedFor) {
  const StreamId elsewhere(0x5eaf00d);
  const auto held = hold(a_);
  expect_ok(blocks().retire(elsewhere));
}

}  // namespace
}  // namespace tessera
