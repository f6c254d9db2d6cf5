// Capuchin: gaps with a free time that hides both copies are offloaded first, longest first; then those that
// are cheapest to expose.
//
// Peng et al., "Capuchin: Tensor-based GPU Memory Management for Deep Learning", ASPLOS 2020. Free time = begin
// of the fetch - end of the copy out. Gaps that reduce the peak are taken by decreasing free time while it is
// not negative, until everything fits; then by the smaller of exposed copy and recomputation, per byte saved. A
// fetch begins one copy time before the use; while runs arrive late, it begins 5 % of a copy earlier in the
// next iteration.
//
// Here that feedback happens between iterations of a simulation: each lead that it can reach is a candidate,
// and the engine follows the fastest. The most likely one is the lead at which no run is late in the forecast.
// A given lead ("capuchin:1.2") is fixed.
//
// Not implemented: recomputation by lineage (a run has a fixed recomputation cost, whatever else is offloaded),
// and a separate lead for each run.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class CapuchinPolicy final : public PlannedPolicy {
 public:
  // Negative: the result of the feedback.
  explicit CapuchinPolicy(double lead = -1) : lead_(lead) {}
  std::string_view name() const override { return "capuchin"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
  void strategies(const Iteration& iteration, const Machine& machine, const EmitCandidate& emit) const override;
  bool may_be_refined() const override { return false; }
  // The plan of one round of feedback: each fetch begins `lead` copy times before the use.
  static OffloadPlan plan_with_lead(const Iteration& iteration, const Machine& machine, double lead);

 private:
  double lead_;
};

}  // namespace tessera
