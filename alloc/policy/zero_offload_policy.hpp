// ZeRO-Offload: optimizer states live on the host; gradients go there as they are made.
//
// Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training", USENIX ATC 2021 (papers.md §4.4).
// Weights and activations stay. States come back one copy before their update.
//
// Not here: the update on the processor and its delay by a step, which change the program; so states
// cross the link twice per iteration, where the paper moves gradients and weights only.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class ZeroOffloadPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "zero-offload"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
