#include <gtest/gtest.h>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

using StatsCollectorTest = AllocatorMachine;

TEST_F(StatsCollectorTest, StatisticsAddUpAfterTraffic) {
  start(small(32_MiB, 64_MiB));
  std::vector<Address> blocks;
  for (int i = 0; i < 16; ++i) {
    blocks.push_back(allocate(i % 2 == 0 ? 4_MiB : 100_KiB));
    write(blocks.back(), 3, 64_KiB);
  }
  for (std::size_t i = 0; i < blocks.size(); i += 3) {
    ASSERT_TRUE(allocator_->free(blocks[i], kNoStream).is_ok());
  }
  ASSERT_TRUE(allocator_->pins().expose(blocks[1], "cuIpcGetMemHandle").is_ok());
  const StatsSnapshot stats = allocator_->stats().snapshot();
  const Status sums = check_sums(stats);
  EXPECT_TRUE(sums.is_ok()) << sums.to_string();
  EXPECT_EQ(stats.totals.live_blocks, 10u);
  EXPECT_EQ(stats.totals.exposed_bytes, kBasePage.value());
  ASSERT_EQ(stats.exposures.size(), 1u);
  EXPECT_EQ(stats.exposures[0].reason, "cuIpcGetMemHandle");
}

TEST_F(StatsCollectorTest, HostFiguresIncludeStagedPages) {
  start(small(32_MiB, 2_MiB, 512_MiB));
  std::vector<Address> blocks;
  for (std::uint32_t i = 0; i < 8; ++i) {
    blocks.push_back(allocate(16_MiB));
    write(blocks.back(), i, 16_MiB);
  }
  const tessera_stats now = allocator_->stats().snapshot().totals;
  EXPECT_EQ(now.host_capacity, Bytes(2_MiB + HostTier::staging_for(2_MiB, 512_MiB)).value());
  EXPECT_GT(now.host_peak, Bytes(2_MiB).value()) << "what went to the file was in host memory before";
  const Status sums = check_sums(allocator_->stats().snapshot());
  EXPECT_TRUE(sums.is_ok()) << sums.to_string();
}

TEST_F(StatsCollectorTest, AnExposureCountsForItsFirstCallAndReportsItsOrigin) {
  Options options = small(32_MiB, 64_MiB);
  options.explain = true;
  start(options);
  const Address block = allocate(4_MiB);
  ASSERT_TRUE(allocator_->pins().expose(block, "first").is_ok());
  ASSERT_TRUE(allocator_->pins().expose(block, "second").is_ok());
  const StatsSnapshot stats = allocator_->stats().snapshot();
  ASSERT_EQ(stats.exposures.size(), 1u);
  EXPECT_EQ(stats.exposures[0].reason, "first");
  EXPECT_NE(stats.exposures[0].first_call.find(" < "), std::string::npos);
}

}  // namespace
}  // namespace tessera
