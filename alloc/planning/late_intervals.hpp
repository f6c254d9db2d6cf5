// Late offload intervals: a plan is activated in the middle of an iteration, when the runs it would have
// offloaded are still on the device.
//
// A late start is worthwhile if the copy out, queued behind those of other intervals, completes before the
// fetch begins. So a program that kept everything on the device during a smaller phase does not evict what it
// is about to use.
//
// Thread safety: stateless.
#pragma once

#include "planning/offload_interval.hpp"

namespace tessera {

// The intervals that span `step` and are worth starting now, ordered by the run's last use, which is when
// pending work on it ends.
OffloadPlan late_intervals(const Iteration& iteration, const Machine& machine, const OffloadPlan& plan,
                           std::uint32_t step);

}  // namespace tessera
