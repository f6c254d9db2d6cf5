// Offset planners that place records in a fixed order, each into the smallest gap that fits: greedy by size and
// greedy by breadth (Pisarchyk and Lee, arXiv 2001.03288).
//
// Thread safety: stateless.
#pragma once

#include <span>
#include <vector>

#include "lab/arena/time_slots.hpp"

namespace tessera {

// The offset of each record in one arena.
struct OffsetPlan {
  std::vector<Bytes> offsets;  // per record
  Bytes total;                 // the end of the highest record
};

OffsetPlan greedy_by_size(std::span<const UsageRecord> records, const TimeSlots& slots);
OffsetPlan greedy_by_breadth(std::span<const UsageRecord> records, const TimeSlots& slots);

}  // namespace tessera
