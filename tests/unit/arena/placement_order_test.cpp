#include "lab/arena/placement_order.hpp"

#include <gtest/gtest.h>

#include "lab/arena/liveness.hpp"
#include "plan_records.hpp"

namespace tessera {
namespace {

TEST(PlacementOrder, BySizeKeepsTheOrderOfEquals) {
  const std::vector<UsageRecord> records = {{Bytes(2), 0, 0}, {Bytes(3), 0, 0}, {Bytes(2), 0, 0}};
  EXPECT_EQ(order_by_size(records), (std::vector<std::size_t>{1, 0, 2}));
}

TEST(PlacementOrder, ByBreadthTakesTheBroadestStepFirst) {
  // Step 5 holds 28+36+16+8+64 minus what has ended: 36, 16, 8 and 64.
  EXPECT_EQ(order_by_breadth(figure_records(), TimeSlots(figure_records())),
            (std::vector<std::size_t>{5, 2, 3, 4, 7, 6, 1, 0}));
}

TEST(PlacementOrder, ByBreadthEqualsTheSlotBySlotOrder) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const std::vector<UsageRecord> records = random_records(seed, 50);
    const TimeSlots slots(records);
    const std::vector<Bytes> breadth = live_bytes(records, slots);
    std::vector<std::size_t> by_breadth;
    for (std::size_t slot = 0; slot < slots.count(); ++slot) by_breadth.push_back(slot);
    std::stable_sort(by_breadth.begin(), by_breadth.end(),
                     [&](std::size_t a, std::size_t b) { return breadth[a] > breadth[b]; });
    std::vector<std::size_t> expected;
    std::vector<bool> taken(records.size(), false);
    for (const std::size_t slot : by_breadth) {
      for (const std::size_t i : order_by_size(records)) {
        if (taken[i] || !SlotSpan{slot, slot}.inside(slots.span(i))) continue;
        taken[i] = true;
        expected.push_back(i);
      }
    }
    EXPECT_EQ(order_by_breadth(records, slots), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tessera
