// Predicts how long an iteration takes under a plan: a model of the device, its links and their queues.
//
// The common measure for all plans. Each link serves its copies in order. A copy out begins when the step it
// follows completes; a copy in begins when its trigger step begins and there is room; a step begins when the
// previous one has completed and its runs are present. Whatever does not fit and was not planned is fetched on
// demand, and the run with the farthest next use is evicted for it, as in the engine.
//
// Thread safety: pure functions.
#pragma once

#include "planning/offload_interval.hpp"

namespace tessera {

struct Forecast {
  Nanoseconds makespan{};  // of one iteration in steady state
  Nanoseconds stall{};     // part of the makespan in which the device waited for bytes
  Bytes peak{};            // maximum bytes on the device, including those in flight
  Bytes out{};             // copied from the device
  Bytes in{};              // copied to the device
  std::uint64_t late = 0;  // runs that were not present when their step could have begun
  bool possible = true;    // whether every step fits on the device
};

// Orders by: possible, shorter makespan, fewer bytes moved.
bool is_better(const Forecast& a, const Forecast& b);

// REQUIRES: intervals use gaps of this iteration, each at most once.
Forecast forecast(const Iteration& iteration, const Machine& machine, const OffloadPlan& plan);

}  // namespace tessera
