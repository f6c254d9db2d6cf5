// Capuchin: those leave whose free time hides both copies, longest first; then the cheapest to expose.
//
// Peng et al., "Capuchin: Tensor-based GPU Memory Management for Deep Learning", ASPLOS 2020 (papers.md
// §3.3). Free time = begin of the way back - end of the way out. Gaps that help in the peak are taken by falling
// free time while it is not negative, until it fits; then by the smaller of exposed copy and remaking,
// per byte saved. A gap's way back begins one copy before the need; while runs arrive late, it
// begins 5 % of a copy earlier (its feedback between iterations, asked of the forecast here).
//
// Not here: recomputing by lineage. A run is remade at the cost it names, whatever else is away.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class CapuchinPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "capuchin"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
  // The plan of one round of feedback: the way back begins `lead` copies before the need.
  static AbsencePlan plan_with_lead(const Iteration& iteration, const Machine& machine, double lead);
};

}  // namespace tessera
