#include "learn/farthest_gaps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "iterations.hpp"

namespace tessera {
namespace {

std::set<std::uint32_t> runs_of(const std::vector<Gap>& gaps) {
  std::set<std::uint32_t> runs;
  for (const Gap& gap : gaps) runs.insert(gap.run);
  return runs;
}

TEST(FarthestGaps, AreNoneWhereAllFits) {
  EXPECT_TRUE(farthest_gaps(test::stack(8, Bytes(100), 100), Bytes(800)).empty());
}

TEST(FarthestGaps, AreNoneWhereAStepAloneDoesNotFit) {
  EXPECT_TRUE(farthest_gaps(test::stack(8, Bytes(100), 100), Bytes(99)).empty());
}

// Of a stack, written forwards and read backwards, the bottom is needed last.
TEST(FarthestGaps, AreThoseOfWhoIsNeededLast) {
  const std::vector<Gap> gaps = farthest_gaps(test::stack(8, Bytes(100), 100), Bytes(500));
  EXPECT_EQ(runs_of(gaps), (std::set<std::uint32_t>{0, 1, 2}));
}

TEST(FarthestGaps, AreOfTheIterationEachOnceAndNoneOfPinnedRuns) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Iteration iteration = test::random_iteration(seed);
    const std::vector<Gap> all = find_gaps(iteration);
    std::set<std::pair<std::uint32_t, std::uint32_t>> taken;
    for (const Gap& own : farthest_gaps(iteration, test::all_bytes(iteration) * (40 + seed % 60) / 100)) {
      EXPECT_FALSE(iteration.runs[own.run].pinned) << seed;
      EXPECT_TRUE(taken.insert({own.run, own.after}).second) << seed;
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&own](const Gap& gap) {
        return gap.run == own.run && gap.after == own.after && gap.until == own.until &&
               gap.wraps == own.wraps && !gap.dead;
      })) << seed;
    }
  }
}

}  // namespace
}  // namespace tessera
