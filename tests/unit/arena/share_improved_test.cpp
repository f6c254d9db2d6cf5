#include <gtest/gtest.h>

#include <algorithm>

#include "lab/arena/liveness.hpp"
#include "lab/arena/shared_objects.hpp"
#include "plan_records.hpp"

namespace tessera {
namespace {

std::vector<Bytes> falling(std::vector<Bytes> bytes) {
  std::sort(bytes.rbegin(), bytes.rend());
  return bytes;
}

TEST(ShareImproved, GivesThePublishedObjects) {
  const std::vector<UsageRecord> records = branching_records();
  const SharedPlan plan = share_improved(records, TimeSlots(records));
  EXPECT_EQ(falling(plan.object_bytes), (std::vector<Bytes>{Bytes(64), Bytes(32), Bytes(8), Bytes(8)}));
}

TEST(ShareImproved, TheLeastIdleTimeDecides) {
  // Both later records could follow the first; the nearer one does.
  const std::vector<UsageRecord> records = {{Bytes(8), 0, 1}, {Bytes(8), 4, 9}, {Bytes(8), 3, 9}};
  const SharedPlan plan = share_improved(records, TimeSlots(records));
  EXPECT_EQ(plan.object_of[2], plan.object_of[0]);
  EXPECT_NE(plan.object_of[1], plan.object_of[0]);
}

TEST(ShareImproved, ARecordMayComeBeforeOneThatHasItsPlace) {
  const std::vector<UsageRecord> records = {{Bytes(4), 0, 1}, {Bytes(9), 2, 3}};
  EXPECT_EQ(share_improved(records, TimeSlots(records)).total, Bytes(9));
}

TEST(ShareImproved, NoObjectHoldsTwoLiveRecordsOrGoesBelowTheBound) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const std::vector<UsageRecord> records = random_records(seed, 1 + seed);
    const TimeSlots slots(records);
    const SharedPlan plan = share_improved(records, slots);
    EXPECT_TRUE(objects_hold(records, plan.object_of, plan.object_bytes)) << "seed " << seed;
    EXPECT_GE(plan.total, shared_lower_bound(records, slots));
  }
}

}  // namespace
}  // namespace tessera
