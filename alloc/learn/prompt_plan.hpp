// When the runs of chosen absences go and come: at once after their use, and back as soon as there is room.
//
// Who is to be away at the fullest moment goes out while there is still room, and comes back in the order
// of need as room appears, so the way out is busy from the last use on and the way in from the first room
// on. Where memory is fullest in the middle of an iteration, as at the end of a forward pass, the two
// ways cannot overlap (replay/time_bounds.hpp): then nothing that waits for demand, or for the last moment
// in which a copy can be hidden, is as fast. Against a linear program that may move parts of runs at any time
// (docs/league.md) this is within some percent where runs are many and small beside the device.
//
// The aggressive prefetching of Cao, Felten, Karlin and Li (SIGMETRICS 1995), for a cache whose write-back
// takes a link of its own. Which absences: those of farthest_absences.hpp, excess_cover.hpp, or of any other plan.
//
// Thread safety: pure function.
#pragma once

#include <vector>

#include "learn/absence.hpp"

namespace tessera {

// Those of the absences that get away before they are needed again, in the order in which they go; dead gaps and
// what is to be remade are left out. Where they leave some step without room, as Belady's do in a circle, which keeps others
// each time around, the gaps of whoever is needed last there are added; empty where some of those do not help.
// REQUIRES: none is of a pinned run.
AbsencePlan prompt_plan(const Iteration& iteration, const Machine& machine, const AbsencePlan& chosen);

}  // namespace tessera
