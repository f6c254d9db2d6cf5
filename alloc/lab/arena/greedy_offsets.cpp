#include "lab/arena/greedy_offsets.hpp"

#include <algorithm>

#include "lab/arena/occupied_offsets.hpp"
#include "lab/arena/placement_order.hpp"

namespace tessera {
namespace {

OffsetPlan place_in(const std::vector<std::size_t>& order, std::span<const UsageRecord> records,
                    const TimeSlots& slots) {
  OffsetPlan plan{std::vector<Bytes>(records.size()), {}};
  OccupiedOffsets occupied(slots.count());
  for (const std::size_t i : order) {
    const Bytes offset = occupied.smallest_gap(slots.span(i), records[i].bytes);
    occupied.take(slots.span(i), offset, records[i].bytes);
    plan.offsets[i] = offset;
    plan.total = std::max(plan.total, offset + records[i].bytes);
  }
  return plan;
}

}  // namespace

OffsetPlan greedy_by_size(std::span<const UsageRecord> records, const TimeSlots& slots) {
  return place_in(order_by_size(records), records, slots);
}

OffsetPlan greedy_by_breadth(std::span<const UsageRecord> records, const TimeSlots& slots) {
  return place_in(order_by_breadth(records, slots), records, slots);
}

}  // namespace tessera
