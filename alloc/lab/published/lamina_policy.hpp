// Lamina: the key-value cache has a tier of its own, everything else stays.
//
// Chen et al., "Efficient Heterogeneous Large Language Model Decoding with Model-Attention Disaggregation",
// arXiv 2405.01814. Runs tagged as KV cache are offloaded between their uses, to a peer if one lends enough
// memory for all of them, else to the host. Weights are never evicted by plan.
//
// Not implemented: attention on the devices that hold the cache. Here the program's launches do the computing,
// so the cache is fetched for each use, one copy time ahead.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class LaminaPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "lamina"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
