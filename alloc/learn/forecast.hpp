// How long an iteration takes under a plan: a model of the device, the two links and their queues.
//
// The one yardstick for all plans (papers.md §8, item 2): each link serves its copies one after the
// other; a copy out begins when the step that it follows is over; a copy in begins when its trigger
// step begins and there is room; a step begins when the one before is over and its runs are there. What
// does not fit and was not planned is fetched on demand, and whoever is used farthest in the future
// leaves for it, as the engine does it.
//
// Thread safety: pure functions.
#pragma once

#include "learn/absence.hpp"

namespace tessera {

struct Forecast {
  Nanoseconds makespan{};  // of one iteration in steady state
  Nanoseconds stall{};     // of it, time in which the device waited for bytes
  Bytes peak{};            // most bytes on the device at once, counting those under way
  Bytes out{};             // copied from the device
  Bytes in{};              // copied to the device
  std::uint64_t late = 0;  // runs that were not there when their step could have begun
  bool possible = true;    // no step needs more than the device has
};

// Possible at all, then sooner done, then fewer bytes moved.
bool is_better(const Forecast& a, const Forecast& b);

// REQUIRES: absences use gaps of this iteration, each at most once.
Forecast forecast(const Iteration& iteration, const Machine& machine, const AbsencePlan& plan);

}  // namespace tessera
