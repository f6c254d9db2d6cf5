#include "planning/shared_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tessera {
namespace {

constexpr Bytes kSize = 2304_KiB;  // by itself each takes 4 MiB; eight take 18
SharingLimits at_most(Bytes run, std::size_t blocks = 64) { return {run, blocks, 512_B}; }
const SharingLimits kLimits = at_most(64_MiB);

// A forward and a backward pass: block n is allocated at step n, and blocks are freed in reverse order.
std::vector<PagedBlock> stack_of(std::size_t count, Bytes bytes) {
  std::vector<PagedBlock> blocks;
  for (std::size_t n = 0; n < count; ++n) {
    blocks.push_back({.bytes = bytes, .begin = n, .end = 2 * count - n, .kind = 1, .may_share = true});
  }
  return blocks;
}

// Pages at the peak, as the runs use them.
Bytes peak_of(const std::vector<PagedBlock>& blocks, const SharedRuns& shared, Bytes beside) {
  std::vector<PagedBlock> runs;
  std::vector<bool> inside(blocks.size());
  for (const auto& run : shared.runs) {
    PagedBlock whole = blocks[run.front()];
    whole.bytes = {};
    for (const std::uint32_t n : run) {
      whole.bytes += round_up(blocks[n].bytes, 512_B);
      whole.end = std::max(whole.end, blocks[n].end);
      inside[n] = true;
    }
    runs.push_back(whole);
  }
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    if (!inside[n]) runs.push_back(blocks[n]);
  }
  Bytes peak;
  for (const PagedBlock& at : blocks) {
    Bytes held = beside;
    for (const PagedBlock& run : runs) {
      if (run.begin <= at.begin && at.begin < run.end) held += round_up(run.bytes, kBasePage);
    }
    peak = std::max(peak, held);
  }
  return peak;
}

TEST(SharedRuns, BlocksThatLiveTogetherFillPages) {
  const auto blocks = stack_of(24, kSize);
  const SharedRuns shared = share_runs(blocks, {}, at_most(18_MiB));
  EXPECT_EQ(shared.alone, 24 * 4_MiB);
  EXPECT_EQ(shared.held, 3 * 18_MiB);
  EXPECT_EQ(shared.runs.size(), 3u);
  EXPECT_EQ(peak_of(blocks, shared, {}), shared.held);
}

TEST(SharedRuns, NoneIsLargerThanItMayBe) {
  const auto blocks = stack_of(64, 5_MiB);
  for (const Bytes most : {10_MiB, 16_MiB, 30_MiB}) {
    for (const auto& run : share_runs(blocks, {}, at_most(most)).runs) EXPECT_LE(run.size() * 5_MiB, most);
  }
}

TEST(SharedRuns, NoneHasMoreBlocksThanAllowed) {
  for (const auto& run : share_runs(stack_of(64, kSize), {}, at_most(64_MiB, 8)).runs) EXPECT_LE(run.size(), 8u);
}

TEST(SharedRuns, SharesOnlyShareableBlocksOfOneKind) {
  auto blocks = stack_of(24, kSize);
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    blocks[n].kind = n % 2;
    blocks[n].may_share = n != 5;
  }
  const SharedRuns shared = share_runs(blocks, {}, kLimits);
  ASSERT_FALSE(shared.runs.empty());
  for (const auto& run : shared.runs) {
    for (const std::uint32_t n : run) {
      EXPECT_EQ(blocks[n].kind, blocks[run.front()].kind);
      EXPECT_NE(n, 5u);
    }
  }
}

TEST(SharedRuns, ABlockNotLiveAtThePeakIsNotShared) {
  auto blocks = stack_of(16, kSize);
  for (std::uint64_t n = 0; n < 4; ++n) {  // sequential, after all others have ended
    blocks.push_back({.bytes = kSize, .begin = 100 + 2 * n, .end = 101 + 2 * n, .kind = 1, .may_share = true});
  }
  for (const auto& run : share_runs(blocks, {}, kLimits).runs) {
    for (const std::uint32_t n : run) EXPECT_LT(n, 16u);
  }
}

TEST(SharedRuns, DropsAPlanThatSavesAlmostNothing) {
  EXPECT_FALSE(share_runs(stack_of(4, kSize), {}, kLimits).runs.empty());
  EXPECT_TRUE(share_runs(stack_of(4, kSize), 64_GiB, kLimits).runs.empty());
  EXPECT_TRUE(share_runs(stack_of(24, 4_MiB), {}, kLimits).runs.empty());
  EXPECT_TRUE(share_runs({}, 1_GiB, kLimits).runs.empty());
}

TEST(SharedRuns, TheReportedPeakIsTheSimulatedPeak) {
  std::mt19937 random(7);
  int plans = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<PagedBlock> blocks;
    for (std::uint64_t n = 0; n < 60; ++n) {
      blocks.push_back({.bytes = Bytes((1 << 20) + 512 * (1 + random() % 20'000)),
                        .begin = n,
                        .end = n + 1 + random() % 80,
                        .kind = random() % 2,
                        .may_share = random() % 8 != 0});
    }
    const SharedRuns shared = share_runs(blocks, 10_MiB, kLimits);
    EXPECT_EQ(peak_of(blocks, shared, 10_MiB), shared.held);
    EXPECT_EQ(peak_of(blocks, {}, 10_MiB), shared.alone);
    EXPECT_LE(shared.held, shared.alone);
    plans += shared.runs.empty() ? 0 : 1;
  }
  EXPECT_GT(plans, 20);
}

}  // namespace
}  // namespace tessera
