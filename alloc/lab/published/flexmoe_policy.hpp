// FlexMoE: evicts the least frequently used; recency matters only as the decay of the count.
//
// Nie et al., "FlexMoE: Scaling Large-scale Sparse Pre-trained Model Training via Dynamic Device Placement",
// SIGMOD 2023. Its scheduler follows how often each expert is used. The frequency of a run is a use count that
// halves with each window of launches (base/decayed_count.hpp): a single use does not make a cold expert hot,
// and a formerly hot one is evicted some windows later. Ties go to the least recently used.
//
// Not implemented: expanding and shrinking experts over devices. Evictions are bounded: no more than needed.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class FlexmoePolicy final : public Policy {
 public:
  std::string_view name() const override { return "flexmoe"; }
  Decision decide(const Snapshot& snapshot) const override;
};

}  // namespace tessera
