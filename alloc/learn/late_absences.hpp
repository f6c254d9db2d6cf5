// A plan is taken up in the middle of an iteration: what it has away at that step is still there.
//
// An absence is worth beginning late if its copy out, behind those of others, is done before the way back begins. So
// a program that kept all it had through something smaller does not send away what it is about to use.
//
// Thread safety: stateless.
#pragma once

#include "learn/absence.hpp"

namespace tessera {

// Those under way behind `step`, in the order of the last uses, in which the work on them ends.
AbsencePlan late_absences(const Iteration& iteration, const Machine& machine, const AbsencePlan& plan,
                          std::uint32_t step);

}  // namespace tessera
