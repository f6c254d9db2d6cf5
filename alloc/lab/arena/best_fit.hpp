// The best-fit offset planner of Sekiyama et al. (arXiv 1804.10001).
//
// The plan grows upwards along a skyline, which has for each stretch of slots the offset above which everything
// is free. The lowest (then earliest) stretch takes the longest-lived record that lies inside it. If there is
// none, the stretch is raised to its lower neighbour and merged with it.
//
// Thread safety: stateless.
#pragma once

#include <span>

#include "lab/arena/greedy_offsets.hpp"

namespace tessera {

OffsetPlan best_fit(std::span<const UsageRecord> records, const TimeSlots& slots);

}  // namespace tessera
