// Offload intervals by Belady's rule: when memory is short, the run with the farthest next use is off the
// device until then.
//
// For blocks of equal size no other choice fetches fewer bytes (Belady, IBM Systems Journal 1966). Runs differ
// in size, so a run is evicted only in part if that suffices. Among runs with the next use in the same step,
// clean ones are evicted first, without a copy. This selects the gaps, not when copies start and end: see
// aggressive_plan.hpp.
//
// Thread safety: pure function.
#pragma once

#include "planning/offload_interval.hpp"

namespace tessera {

// The intervals of an iteration in steady state, each fetched on demand; empty if everything fits or if the
// runs of one step do not fit together. A block that is held beyond its last use may be offloaded until it is
// freed; its gap is then not a dead one.
OffloadPlan farthest_intervals(const Iteration& iteration, Bytes device);

}  // namespace tessera
