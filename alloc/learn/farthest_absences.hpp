// The absences of Belady's rule: where room is short, whoever is needed last is away until then.
//
// No other choice of blocks of one size brings in fewer bytes (Belady, IBM Systems Journal 1966). Runs differ in
// size, so of whoever is needed last only as much goes as is wanted. Of those that are needed in the same step whoever
// is clean goes first: he leaves without a copy. This says who is away in which gap, not when he goes and comes:
// prompt_plan.hpp does.
//
// Thread safety: pure function.
#pragma once

#include "learn/absence.hpp"

namespace tessera {

// Of an iteration in steady state, each back on demand; none where all fits, or where the runs of a step do not
// fit together. A block that is held beyond its last use may be away until it is freed: its gap is no dead one then.
AbsencePlan farthest_absences(const Iteration& iteration, Bytes device);

}  // namespace tessera
