#include "block/block_counts.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

class BlockCountsTest : public LayerTest {
 protected:
  BlockCountsTest() : stream_(new_stream()) {}
  Address allocate(Bytes bytes, std::uint64_t tag = 1) { return take(blocks().allocate(bytes, stream_, TagId(tag))); }
  void free(Address address) { expect_ok(blocks().free(address, stream_)); }

  const StreamId stream_;
};

TEST_F(BlockCountsTest, BytesAreCountedAsAskedFor) {
  const Address small = allocate(700_B);
  const Address large = allocate(3_MiB);
  BlockStats stats = blocks().stats();
  EXPECT_EQ(stats.live_blocks, 2u);
  EXPECT_EQ(stats.live_bytes, 3_MiB + 700_B);
  EXPECT_EQ(stats.slot_pages, 1u);
  EXPECT_EQ(stats.single_blocks, 1u);
  free(small);
  free(large);
  stats = blocks().stats();
  EXPECT_EQ(stats.live_bytes, Bytes());
  EXPECT_EQ(stats.allocations, 2u);
  EXPECT_EQ(stats.frees, 2u);
}

TEST_F(BlockCountsTest, ThePeakStaysAndIsExactWithinAGrain) {
  const Address large = allocate(5_MiB);
  std::vector<Address> small;
  for (int i = 0; i < 100; ++i) small.push_back(allocate(10_KiB));
  for (const Address block : small) free(block);
  free(large);
  const Bytes peak = blocks().stats().peak_live_bytes;
  EXPECT_LE(peak, 5_MiB + 1000_KiB);
  EXPECT_GE(peak + Bytes(static_cast<std::uint64_t>(LiveMeter::kGrain)), 5_MiB + 1000_KiB);
}

TEST_F(BlockCountsTest, ABlockFreedByAnEndedThreadIsNotInThePeak) {
  std::thread([&] { free(allocate(6_MiB)); }).join();
  EXPECT_EQ(blocks().stats().peak_live_bytes, 6_MiB);
  const Address block = allocate(5_MiB);
  EXPECT_EQ(blocks().stats().peak_live_bytes, 6_MiB) << "the two never lived together";
  const Address other = allocate(3_MiB);
  EXPECT_EQ(blocks().stats().peak_live_bytes, 8_MiB);
  free(block);
  free(other);
  EXPECT_EQ(blocks().stats().live_bytes, Bytes());
}

TEST_F(BlockCountsTest, CountsOfThreadsThatEndedStayInTheSums) {
  std::vector<Address> made(3);
  std::thread([&] {
    for (Address& block : made) block = allocate(4_KiB);
  }).join();
  std::thread([&] { free(made[0]); }).join();
  const BlockStats stats = blocks().stats();
  EXPECT_EQ(stats.allocations, 3u);
  EXPECT_EQ(stats.frees, 1u);
  EXPECT_EQ(stats.live_bytes, 8_KiB);
}

TEST_F(BlockCountsTest, TagsSumUpToTheWhole) {
  allocate(1_KiB, 1);
  allocate(2_KiB, 2);
  allocate(3_MiB, 2);
  free(allocate(4_MiB, 3));
  const auto tags = blocks().tags();
  ASSERT_EQ(tags.size(), 2u);
  EXPECT_EQ(tags[0].tag, TagId(1));
  EXPECT_EQ(tags[0].live_bytes, 1_KiB);
  EXPECT_EQ(tags[1].live_blocks, 2u);
  EXPECT_EQ(tags[1].live_bytes, 3_MiB + 2_KiB);
  EXPECT_EQ(tags[0].live_bytes + tags[1].live_bytes, blocks().stats().live_bytes);
}

TEST_F(BlockCountsTest, CachedBytesAreFreeBlocksInTheSharedCaches) {
  std::thread([&] { free(allocate(4_MiB)); }).join();
  EXPECT_EQ(blocks().stats().cached_bytes, 4_MiB);
  std::thread([&] { free(allocate(4_KiB)); }).join();
  EXPECT_EQ(blocks().stats().cached_bytes, 4_MiB + kBasePage);
  expect_ok(driver().synchronize(stream_));
  expect_ok(blocks().trim());
  EXPECT_EQ(blocks().stats().cached_bytes, Bytes());
  EXPECT_EQ(pages().stats().runs, 0u);
}

TEST_F(BlockCountsTest, ALiveCountThatIsWrongIsInvalid) {
  for (const Bytes bytes : {4_KiB, 2_MiB}) {
    Run* const run = pages().find(allocate(bytes));
    expect_ok(blocks().validate());
    run->live.fetch_add(1);
    EXPECT_EQ(blocks().validate().code(), Code::kInternal);
    run->live.fetch_sub(1);
  }
}

TEST_F(BlockCountsTest, ARunThatNoBlockHasIsInvalid) {
  Run* const stray = take(pages().acquire(2_MiB, {7, stream_, TagId(1)}, {}));
  EXPECT_EQ(blocks().validate().code(), Code::kInternal);
  expect_ok(pages().release(stray));
}

}  // namespace
}  // namespace tessera
