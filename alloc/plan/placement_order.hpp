// The two orders in which greedy planners take records: by size, and by breadth (Pisarchyk and Lee,
// arXiv 2001.03288).
//
// Ties keep the order of the records, so a plan is a function of its input.
//
// Thread safety: stateless.
#pragma once

#include <span>
#include <vector>

#include "plan/time_slots.hpp"

namespace tessera {

// Falling size.
std::vector<std::size_t> order_by_size(std::span<const UsageRecord> records);

// Slots by falling breadth; of each slot its records by falling size, unless a slot before had
// them.
std::vector<std::size_t> order_by_breadth(std::span<const UsageRecord> records,
                                          const TimeSlots& slots);

}  // namespace tessera
