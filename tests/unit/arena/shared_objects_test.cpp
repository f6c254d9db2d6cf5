#include "lab/arena/shared_objects.hpp"

#include <gtest/gtest.h>

#include "lab/arena/liveness.hpp"
#include "plan_records.hpp"

namespace tessera {
namespace {

TEST(SharedObjects, ByBreadthGivesThePublishedObjects) {
  const std::vector<UsageRecord> records = branching_records();
  const SharedPlan plan = share_by_breadth(records, TimeSlots(records));
  EXPECT_EQ(plan.object_bytes, (std::vector<Bytes>{Bytes(64), Bytes(16), Bytes(8), Bytes(8), Bytes(32)}));
}

TEST(SharedObjects, BySizeTakesTheSmallestFreeObject) {
  const std::vector<UsageRecord> records = {{Bytes(9), 0, 0}, {Bytes(8), 0, 0}, {Bytes(3), 1, 1}};
  const SharedPlan plan = share_by_size(records, TimeSlots(records));
  EXPECT_EQ(plan.object_of, (std::vector<std::size_t>{0, 1, 1}));
  EXPECT_EQ(plan.total, Bytes(17));
}

TEST(SharedObjects, AnObjectGrowsWhenNoneIsLargeEnough) {
  // The broadest step is the last, so its small records are placed first.
  const std::vector<UsageRecord> records = {{Bytes(5), 0, 0}, {Bytes(3), 1, 1}, {Bytes(3), 1, 1}};
  const SharedPlan plan = share_by_breadth(records, TimeSlots(records));
  EXPECT_EQ(plan.object_bytes, (std::vector<Bytes>{Bytes(3), Bytes(5)}));
}

TEST(SharedObjects, NoObjectHoldsTwoLiveRecordsOrGoesBelowTheBound) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const std::vector<UsageRecord> records = random_records(seed, 1 + seed);
    const TimeSlots slots(records);
    for (auto* planner : {share_by_size, share_by_breadth}) {
      const SharedPlan plan = planner(records, slots);
      EXPECT_TRUE(objects_hold(records, plan.object_of, plan.object_bytes)) << "seed " << seed;
      EXPECT_GE(plan.total, shared_lower_bound(records, slots));
    }
  }
}

}  // namespace
}  // namespace tessera
