#include "planning/excess_cover.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"
#include "planning/forecast.hpp"

namespace tessera {
namespace {

using test::kRate;

class ExcessCover : public ::testing::TestWithParam<GapOrder> {};

TEST_P(ExcessCover, IsEmptyWhereAllFits) {
  const Iteration iteration = test::stack(8, Bytes(100), 100);
  EXPECT_TRUE(test::moves_of(cover_excess(iteration, test::machine_of(Bytes(800), kRate), GetParam())).empty());
}

TEST_P(ExcessCover, HidesAllAtHalfTheMemoryWhereTheLinksAreFastEnough) {
  const Iteration iteration = test::stack(8, Bytes(100), 100);
  const OffloadPlan plan = cover_excess(iteration, test::machine_of(Bytes(400), 2 * kRate), GetParam());
  const Forecast result = forecast(iteration, test::machine_of(Bytes(400), 2 * kRate), plan);
  EXPECT_FALSE(test::moves_of(plan).empty());
  EXPECT_EQ(result.stall, Nanoseconds());
}

TEST_P(ExcessCover, MovesNoPinnedRuns) {
  Iteration iteration = test::stack(8, Bytes(100), 100);
  for (IterationRun& run : iteration.runs) run.pinned = true;
  EXPECT_TRUE(test::moves_of(cover_excess(iteration, test::machine_of(Bytes(400), kRate), GetParam())).empty());
}

INSTANTIATE_TEST_SUITE_P(Orders, ExcessCover,
                         ::testing::Values(GapOrder::kReliefPerCopy, GapOrder::kLongest, GapOrder::kLargest));

}  // namespace
}  // namespace tessera
