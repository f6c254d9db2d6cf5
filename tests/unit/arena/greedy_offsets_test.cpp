#include "lab/arena/greedy_offsets.hpp"

#include <gtest/gtest.h>

#include "lab/arena/liveness.hpp"
#include "plan_records.hpp"

namespace tessera {
namespace {

std::vector<Bytes> bytes_of(const std::vector<std::uint64_t>& values) {
  std::vector<Bytes> bytes;
  for (const std::uint64_t value : values) bytes.push_back(Bytes(value));
  return bytes;
}

TEST(GreedyOffsets, BySizeReachesTheBoundOfThePublishedFigure) {
  const std::vector<UsageRecord> records = figure_records();
  EXPECT_EQ(greedy_by_size(records, TimeSlots(records)).total, Bytes(124));
}

TEST(GreedyOffsets, BySizeGivesThePublishedOffsets) {
  const OffsetPlan chain = greedy_by_size(chain_records(), TimeSlots(chain_records()));
  EXPECT_EQ(chain.offsets, bytes_of({0, 64, 0, 64, 0}));
  EXPECT_EQ(chain.total, Bytes(96));
  const OffsetPlan branching = greedy_by_size(branching_records(), TimeSlots(branching_records()));
  EXPECT_EQ(branching.offsets, bytes_of({0, 32, 80, 64, 88, 0, 64, 72, 0}));
  EXPECT_EQ(branching.total, Bytes(96));
}

TEST(GreedyOffsets, NoPlanSharesALiveByteOrGoesBelowTheBound) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const std::vector<UsageRecord> records = random_records(seed, 1 + seed);
    const TimeSlots slots(records);
    for (auto* planner : {greedy_by_size, greedy_by_breadth}) {
      const OffsetPlan plan = planner(records, slots);
      EXPECT_TRUE(places_hold(records, plan.offsets, plan.total)) << "seed " << seed;
      EXPECT_GE(plan.total, offset_lower_bound(records, slots));
      EXPECT_LE(plan.total, naive_bytes(records));
    }
  }
}

}  // namespace
}  // namespace tessera
