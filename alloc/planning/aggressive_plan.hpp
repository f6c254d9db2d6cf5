// Aggressive prefetching: times the moves of chosen offload intervals, with eviction right after use and fetch
// as soon as there is room.
//
// Runs that must be off the device at its fullest moment are evicted while there is still room, and fetched in
// order of need as room appears. So the outbound link is busy from the last use on and the inbound link from
// the first room on. If memory is fullest in the middle of an iteration, as at the end of a forward pass, the
// two directions cannot overlap (lab/replay/time_bounds.hpp), and no scheme that waits for demand, or for the last
// moment at which a copy can be hidden, is as fast. Compared with a linear program that may move parts of runs
// at any time (docs/policy-benchmark.md), this is within a few percent if runs are many and small relative to the
// device.
//
// The aggressive prefetching of Cao, Felten, Karlin and Li (SIGMETRICS 1995), for a cache with a separate link
// for write-back. The intervals come from farthest_intervals.hpp, excess_cover.hpp, or any other plan.
//
// Thread safety: pure function.
#pragma once

#include <vector>

#include "planning/offload_interval.hpp"

namespace tessera {

// Returns those intervals that leave the device before they are needed again, in the order of eviction. Dead
// gaps and recomputed runs are left out. If they leave a step without room (Belady's choice can around a cyclic
// iteration, as it keeps different runs in each pass), the gaps of the runs with the farthest next use are
// added; empty if several of those do not help. REQUIRES: no interval is of a pinned run.
OffloadPlan aggressive_plan(const Iteration& iteration, const Machine& machine, const OffloadPlan& chosen);

}  // namespace tessera
