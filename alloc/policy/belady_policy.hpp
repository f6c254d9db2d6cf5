// Evicts the run with the farthest next use: the fewest misses that on-demand eviction can have.
//
// Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5, 1966. Next
// uses come from the learned iteration; a run without one there is predicted from its own past
// (recency_policy.hpp). Optimal for runs of equal size and equal miss cost, so here it is a baseline, not a
// bound.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class BeladyPolicy final : public Policy {
 public:
  std::string_view name() const override { return "belady"; }
  Decision decide(const Snapshot& snapshot) const override;
};

}  // namespace tessera
