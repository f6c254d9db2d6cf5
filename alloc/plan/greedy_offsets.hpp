// Offset planners that take records in a fixed order and put each into the smallest gap that fits:
// greedy by size and greedy by breadth (Pisarchyk and Lee, arXiv 2001.03288).
//
// Thread safety: stateless.
#pragma once

#include <span>
#include <vector>

#include "plan/time_slots.hpp"

namespace tessera {

// Where each record lies in one arena.
struct OffsetPlan {
  std::vector<Bytes> offsets;  // by record
  Bytes total;                 // the end of the highest record
};

OffsetPlan greedy_by_size(std::span<const UsageRecord> records, const TimeSlots& slots);
OffsetPlan greedy_by_breadth(std::span<const UsageRecord> records, const TimeSlots& slots);

}  // namespace tessera
