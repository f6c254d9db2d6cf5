#include "policy_bench_scores.hpp"

#include <gmock/gmock.h>

#include "policy_bench_rows.hpp"

namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PolicyBenchScores, TheBestOfACellAreAllWithinAThousandthOfTheShortest) {
  const auto cells =
      cells_of(policy_bench_of({"t"}, {"a", "b", "c"}, {90, 50}, {100'000, 300, 100'090, 200, 100'200, 0}));
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_THAT(cells[0].best, ElementsAre(0, 1));
  EXPECT_THAT(cells[1].best, ElementsAre(1));
  EXPECT_EQ(cells[1].step_ns, 200U);
}

TEST(PolicyBenchScores, AnUnfinishedCellHasNoBest) {
  const PolicyBench bench = policy_bench_of({"t"}, {"a", "b"}, {50}, {0, 0});
  EXPECT_THAT(cells_of(bench)[0].best, IsEmpty());
  EXPECT_EQ(best_but(bench, 0, 0, 0), std::nullopt);
  EXPECT_EQ(ranking_of(bench)[0].finished, 0U);
}

TEST(PolicyBenchScores, RanksByMeanRatioOverFinishedCells) {
  const auto ranking = ranking_of(policy_bench_of({"t"}, {"a", "b"}, {90, 50}, {200, 800, 100, 1600}));
  EXPECT_EQ(ranking[0].policy, 0U);
  EXPECT_EQ(ranking[0].firsts, 1U);
  EXPECT_THAT(ranking[0].mean_ratio, DoubleEq(4));
  EXPECT_NEAR(ranking[0].mean_behind, 1.41421356, 1e-6);
  EXPECT_THAT(ranking[0].worst_behind, DoubleEq(2));
  EXPECT_THAT(ranking[1].mean_ratio, DoubleEq(4));
}

TEST(PolicyBenchScores, RanksFinishedCellsBeforeSpeed) {
  const auto ranking = ranking_of(policy_bench_of({"t"}, {"a", "b"}, {90, 50}, {100, 0, 300, 400}));
  EXPECT_EQ(ranking[0].policy, 1U);
  EXPECT_EQ(ranking[0].finished, 2U);
}

TEST(PolicyBenchScores, TheBestOfTheOthersExcludesOne) {
  const PolicyBench bench = policy_bench_of({"t", "u"}, {"a", "b", "c"}, {50}, {0, 0, 0, 10, 30, 20});
  EXPECT_EQ(best_but(bench, 1, 0, 0), 2U);
  EXPECT_EQ(best_but(bench, 1, 0, 1), 0U);
}

}  // namespace
