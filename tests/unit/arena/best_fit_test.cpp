#include "lab/arena/best_fit.hpp"

#include <gtest/gtest.h>

#include "lab/arena/liveness.hpp"
#include "plan_records.hpp"

namespace tessera {
namespace {

TEST(BestFit, TheLongestLifeLiesLowest) {
  const std::vector<UsageRecord> records = {{Bytes(9), 0, 1}, {Bytes(1), 0, 3}, {Bytes(9), 2, 3}};
  const OffsetPlan plan = best_fit(records, TimeSlots(records));
  EXPECT_EQ(plan.offsets, (std::vector<Bytes>{Bytes(1), Bytes(0), Bytes(1)}));
  EXPECT_EQ(plan.total, Bytes(10));
}

TEST(BestFit, ALineThatTakesNothingIsLiftedToItsLowerNeighbour) {
  // The record from 1 to 4 spans the boundary between the first two, which differ in height.
  const std::vector<UsageRecord> records = {{Bytes(4), 0, 2}, {Bytes(6), 3, 6}, {Bytes(1), 1, 4}};
  const OffsetPlan plan = best_fit(records, TimeSlots(records));
  EXPECT_TRUE(places_hold(records, plan.offsets, plan.total));
  EXPECT_EQ(plan.total, Bytes(7));
}

TEST(BestFit, NoPlanSharesALiveByteOrGoesBelowTheBound) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const std::vector<UsageRecord> records = random_records(seed, 1 + seed);
    const TimeSlots slots(records);
    const OffsetPlan plan = best_fit(records, slots);
    EXPECT_TRUE(places_hold(records, plan.offsets, plan.total)) << "seed " << seed;
    EXPECT_GE(plan.total, offset_lower_bound(records, slots));
  }
}

TEST(BestFit, NothingNeedsNothing) { EXPECT_EQ(best_fit({}, TimeSlots({})).total, Bytes(0)); }

}  // namespace
}  // namespace tessera
