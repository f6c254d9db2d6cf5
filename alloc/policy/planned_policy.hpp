// A strategy that consists of a plan; evictions that the plan leaves open go by farthest next use.
//
// The papers differ in their on-demand behaviour, or simply fail there. All share one behaviour here, the one
// that planning/forecast.hpp assumes, so that comparisons are between plans and not between fallbacks.
//
// Thread safety: stateless.
#pragma once

#include "policy/belady_policy.hpp"

namespace tessera {

class PlannedPolicy : public Policy {
 public:
  Decision decide(const Snapshot& snapshot) const final { return BeladyPolicy().decide(snapshot); }
};

}  // namespace tessera
