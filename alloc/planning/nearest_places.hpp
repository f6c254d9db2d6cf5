// Assigns offload targets to the intervals of a plan when the nearest memory cannot hold all of them.
//
// Memory lent by a peer, and host memory when it is short, serves more traffic the sooner each run returns. So
// when it is full, the run that returns last moves one tier down. For runs of equal size no other choice keeps
// more of them near (Faigle and Nawijn, Discrete Applied Mathematics 58, 1995). MPress (HPCA 2023) also ranks
// by the length of the gap.
//
// Thread safety: pure functions.
#pragma once

#include "planning/offload_interval.hpp"

namespace tessera {

// Sends to a peer those intervals that it has room for; returns the plan unchanged if no peer lends memory.
OffloadPlan spend_with_peer(const Iteration& iteration, const Machine& machine, OffloadPlan plan);

// Whether a file exists and device and host together cannot hold all runs.
bool needs_file(const Iteration& iteration, const Machine& machine);

// Sends to the file those intervals that the host has no room for; returns the plan unchanged without a file.
// Runs that no step uses are not counted.
OffloadPlan spend_in_file(const Iteration& iteration, const Machine& machine, OffloadPlan plan);

}  // namespace tessera
