// Farthest next use leaves first: the fewest misses that on-demand eviction can have.
//
// Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5,
// 1966. The future is the learned iteration's; a run of which it says nothing is expected
// where its own past says (recency_policy.hpp). Optimal for runs of one size
// and misses of one cost, so here a yardstick, not a bound.
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
