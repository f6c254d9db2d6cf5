#include "lab/arena/time_slots.hpp"

#include <gtest/gtest.h>

#include "plan_records.hpp"

namespace tessera {
namespace {

TEST(TimeSlots, StartWhereRecordsBegin) {
  const std::vector<UsageRecord> records = {{Bytes(1), 10, 90}, {Bytes(1), 50, 50}, {Bytes(1), 10, 49}};
  const TimeSlots slots(records);
  EXPECT_EQ(slots.count(), 2U);
  EXPECT_EQ(slots.span(0).first, 0U);
  EXPECT_EQ(slots.span(0).last, 1U);
  EXPECT_EQ(slots.span(1).first, 1U);
  EXPECT_EQ(slots.span(2).last, 0U);
}

TEST(TimeSlots, TwoRecordsShareASlotExactlyIfTheyAreLiveTogether) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<UsageRecord> records = random_records(seed, 60);
    const TimeSlots slots(records);
    for (std::size_t a = 0; a < records.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const bool share = slots.span(a).first <= slots.span(b).last && slots.span(b).first <= slots.span(a).last;
        ASSERT_EQ(share, live_together(records[a], records[b])) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace tessera
