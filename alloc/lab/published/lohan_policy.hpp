// LoHan: searches for the number of activations to move; the iteration time is convex in it.
//
// Liao et al., "LoHan: Low-Cost High-Performance Framework to Fine-Tune 100B Model on a Consumer GPU", ICDE
// 2025, arXiv 2403.06504. Saved activations are ranked by computing time per byte, the most expensive to
// recompute first. A number of them is offloaded, to the host while it has room, then to the file; of the rest
// those that can be recomputed are, and the others stay. The number is the one with the least predicted time.
// Optimizer states and gradients are offloaded until the update.
//
// Not implemented: the update on the processor during the backward pass, and the order of its SSD accesses.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class LohanPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "lohan"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
  // The plan that offloads the first `count` of the ranked activations.
  static OffloadPlan plan_moving(const Iteration& iteration, const Machine& machine, std::size_t count);
};

}  // namespace tessera
