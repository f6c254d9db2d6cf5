// A strategy that is a plan: what the plan leaves open is decided by farthest next use.
//
// The papers differ in what they do on demand, or fail there. One answer for all of them, and the one
// that learn/forecast.hpp assumes, so that the plans are compared and not what catches them.
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
