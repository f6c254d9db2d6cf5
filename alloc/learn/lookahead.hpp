// A plan by looking ahead: what is needed next comes first, and whoever is needed last makes room.
//
// Belady's choice of who leaves moves the fewest bytes, but it waits until a use is at hand; then
// both links stand still while the device computes, and the other way round. Here requests for room
// are met in the order of their steps, as far ahead as memory reaches: the aggressive prefetching
// of Cao, Felten, Karlin and Li (SIGMETRICS 1995), never at the price of a run that is needed
// sooner than the one that comes. Copies out take time here, so room is asked for as early as what
// will be put there.
//
// Thread safety: pure function.
#pragma once

#include "learn/absence.hpp"

namespace tessera {

// `lead`: nothing is fetched that would be there longer than this before its step begins.
// REQUIRES: each step's runs fit on the device together; if not, the plan is empty.
AbsencePlan look_ahead(const Iteration& iteration, const Machine& machine, Nanoseconds lead);

}  // namespace tessera
