// LoHan: how many bytes of activations to move is searched for, the time being convex in it.
//
// Liao et al., "LoHan: Low-Cost High-Performance Framework to Fine-Tune 100B Model on a Consumer GPU",
// ICDE 2025, arXiv 2403.06504 (papers.md §4.8). Saved activations are ranked by computing time over bytes, what is
// dear to remake first; a number of them moves, to the host while it has room, then to the file; of the rest what
// can be remade is, what cannot stays. The number is the one with the least time in the
// forecast. Optimizer states and gradients are away until the update.
//
// Not here: the update on the processor during the way back, and the order of its SSD accesses.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class LohanPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "lohan"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
  // The plan that moves the first `count` of the ranked activations.
  static AbsencePlan plan_moving(const Iteration& iteration, const Machine& machine, std::size_t count);
};

}  // namespace tessera
