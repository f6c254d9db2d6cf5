// The two record orders of the greedy planners: by size, and by breadth (Pisarchyk and Lee, arXiv 2001.03288).
//
// Ties keep the order of the records, so a plan depends only on its input.
//
// Thread safety: stateless.
#pragma once

#include <span>
#include <vector>

#include "lab/arena/time_slots.hpp"

namespace tessera {

// Decreasing size.
std::vector<std::size_t> order_by_size(std::span<const UsageRecord> records);

// Slots by decreasing breadth; within a slot its records by decreasing size, except those already taken with an
// earlier slot.
std::vector<std::size_t> order_by_breadth(std::span<const UsageRecord> records, const TimeSlots& slots);

}  // namespace tessera
