// Lamina: the cache of keys and values has a tier of its own, everything else stays.
//
// Chen et al., "Efficient Heterogeneous Large Language Model Decoding with Model-Attention Disaggregation", arXiv
// 2405.01814 (papers.md §7.3). Runs tagged as KV cache leave between their uses, to a peer if one lends enough
// memory for all of them, else to the host; weights never leave by plan.
//
// Not here: attention on the devices that hold the cache. Ours computes where the program launches it, so
// the cache comes back for each use, one copy ahead.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class LaminaPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "lamina"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
