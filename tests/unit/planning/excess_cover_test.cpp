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

// Used in the first and the last step; a run in the middle leaves no room for it.
TEST_P(ExcessCover, AFetchBeginsEarlierByTheTimeOfItsMapping) {
  test::IterationBuilder build;
  build.run(Bytes(100));
  build.run(Bytes(150));
  build.step(100, {test::writes(0)});
  for (int i = 1; i < 10; ++i) {
    if (i == 3) {
      build.step(100, {test::makes(1)});
    } else {
      build.step(100, {});
    }
  }
  build.step(100, {test::writes(0)});
  Machine machine = test::machine_of(Bytes(200), kRate);
  const OffloadPlan free = test::moves_of(cover_excess(build.done(), machine, GetParam()));
  machine.mapping = Nanoseconds(300);
  const OffloadPlan slow = test::moves_of(cover_excess(build.done(), machine, GetParam()));
  ASSERT_EQ(free.size(), 1U);
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(free[0].back_at, slow[0].back_at + 3);
}

INSTANTIATE_TEST_SUITE_P(Orders, ExcessCover,
                         ::testing::Values(GapOrder::kReliefPerCopy, GapOrder::kLongest, GapOrder::kLargest));

}  // namespace
}  // namespace tessera
