// Capuchin: those leave whose free time hides both copies, longest first; then the cheapest to expose.
//
// Peng et al., "Capuchin: Tensor-based GPU Memory Management for Deep Learning", ASPLOS 2020 (papers.md
// §3.3). Free time = begin of the way back - end of the way out. Gaps that help in the peak are taken by falling
// free time while it is not negative, until it fits; then by the smaller of exposed copy and remaking,
// per byte saved. A gap's way back begins one copy before the need; while runs arrive late, it
// begins 5 % of a copy earlier in the next iteration.
//
// That feedback is given between iterations of a rehearsal here: each lead that it can come to is a strategy, and the
// engine follows the fastest. The likeliest is the one at which nobody is late by the forecast. A lead that is given
// ("capuchin:1.2") stays.
//
// Not here: recomputing by lineage, as a run is remade at the cost it names, whatever else is away; a lead of its own
// for each run.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class CapuchinPolicy final : public PlannedPolicy {
 public:
  // Negative: what feedback comes to.
  explicit CapuchinPolicy(double lead = -1) : lead_(lead) {}
  std::string_view name() const override { return "capuchin"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
  void strategies(const Iteration& iteration, const Machine& machine, const Hear& hear) const override;
  bool may_be_refined() const override { return false; }
  // The plan of one round of feedback: the way back begins `lead` copies before the need.
  static AbsencePlan plan_with_lead(const Iteration& iteration, const Machine& machine, double lead);

 private:
  double lead_;
};

}  // namespace tessera
