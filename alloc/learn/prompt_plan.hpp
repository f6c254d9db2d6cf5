// When the runs of chosen gaps go and come: at once after their use, and back as soon as there is room.
//
// Who is to be away at the fullest moment goes out while there is still room, and comes back in the order
// of need as room appears, so the way out is busy from the last use on and the way in from the first room
// on. Where memory is fullest in the middle of an iteration, as at the end of a forward pass, the two
// ways cannot overlap (replay/time_bounds.hpp): then nothing that waits for demand, or for the last moment
// in which a copy can be hidden, is as fast. Against a linear program that may move parts of runs at any time
// (docs/league.md) this is within some percent where runs are many and small beside the device.
//
// The aggressive prefetching of Cao, Felten, Karlin and Li (SIGMETRICS 1995), for a cache whose write-back
// takes a link of its own. Which gaps: farthest_gaps.hpp, excess_cover.hpp, or those of any other plan.
//
// Thread safety: pure function.
#pragma once

#include <vector>

#include "learn/absence.hpp"

namespace tessera {

// Absences in those of the gaps that get away before they are needed again, in the order in which they go. Empty
// where the gaps leave some step without room.
// REQUIRES: none of the gaps is dead or of a pinned run.
AbsencePlan prompt_plan(const Iteration& iteration, const Machine& machine, const std::vector<Gap>& gaps);

}  // namespace tessera
