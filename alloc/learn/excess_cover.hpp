// Chooses absences until no step of an iteration uses more than the device has.
//
// Each step offers each link as much time as it lasts. A gap is *hidden* when the steps inside it
// have enough of that left: out as early, in as late as possible; between the two its bytes are
// off the device. Gaps are taken greedily, best first, as long as there is excess where they would help;
// only then those that cannot be hidden, and they cost a wait: where links are slow, no plan at all can be
// faster, so whoever asks compares. After G10's smart migrations
// (MICRO'23) and Capuchin's free time (papers.md §3.3), with the queue of each link kept exactly.
//
// Thread safety: pure functions.
#pragma once

#include "learn/absence.hpp"

namespace tessera {

// What makes one gap better than another.
enum class GapOrder : std::uint8_t {
  kReliefPerCopy,  // excess that it takes away, over the time of its copies
  kLongest,        // most time between its uses
  kLargest,        // most bytes
};

AbsencePlan cover_excess(const Iteration& iteration, const Machine& machine, GapOrder order);

}  // namespace tessera
