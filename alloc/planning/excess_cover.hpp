// Chooses offload intervals until no step of an iteration exceeds the device memory.
//
// Each step offers each link as much time as the step lasts. A gap is *hidden* if the steps inside it have
// enough link time left for its copies: out as early and in as late as possible, with the bytes off the device
// in between. Gaps are taken greedily, best first, while they reduce excess; gaps that cannot be hidden come
// last and cost a stall. On slow links having no plan may be faster, so callers must compare. After G10's smart
// migrations (MICRO 2023) and Capuchin's free time (ASPLOS 2020), with the queue of each link tracked exactly.
//
// Thread safety: pure functions.
#pragma once

#include "planning/offload_interval.hpp"

namespace tessera {

// The criterion by which gaps are ranked.
enum class GapOrder : std::uint8_t {
  kReliefPerCopy,  // excess removed per copy time
  kLongest,        // longest time between its uses
  kLargest,        // most bytes
};

OffloadPlan cover_excess(const Iteration& iteration, const Machine& machine, GapOrder order);

}  // namespace tessera
