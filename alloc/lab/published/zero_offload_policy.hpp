// ZeRO-Offload: optimizer states live on the host; gradients go there as they are produced.
//
// Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training", USENIX ATC 2021. Weights and
// activations stay. States are fetched one copy time before their update.
//
// Not implemented: the update on the processor and its delay by a step, which change the program. So states
// cross the link twice per iteration, where the paper moves only gradients and weights.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class ZeroOffloadPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "zero-offload"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
