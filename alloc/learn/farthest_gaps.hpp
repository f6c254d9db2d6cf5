// The gaps that Belady's rule uses: where room is short, whoever is needed last is away until then.
//
// No other choice of whole runs, of one size, brings in fewer bytes (Belady, IBM Systems Journal 1966). It says
// who is away in which gap, not when he goes and comes: prompt_plan.hpp does.
//
// Thread safety: pure function.
#pragma once

#include <vector>

#include "learn/iteration.hpp"

namespace tessera {

// Of an iteration in steady state; none where all fits, or where the runs of a step do not fit together.
std::vector<Gap> farthest_gaps(const Iteration& iteration, Bytes device);

}  // namespace tessera
