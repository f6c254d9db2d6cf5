// Tessera's own policy: until the iteration is learned the rule that has done best on the program's launches, recency
// at first; then the strategy with the best simulated time.
//
// Plans differ in which gaps they take first and how early they fetch; policies differ in what they evict when no plan
// applies. Which combination suits a program depends on where its memory peaks and how fast the links are, so several
// are offered as candidates: our own plans, and those of four published policies. The others gained nothing beside
// these and the search (docs/experiments/simulation.md).
//
// Sources: Belady, Capuchin, DELTA and MPress (shipped_policies.cpp); aggressive_plan.hpp and excess_cover.hpp for
// ours.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class AutoPolicy final : public Policy {
 public:
  AutoPolicy();
  std::string_view name() const override { return "auto"; }
  Decision decide(const Snapshot& snapshot) const override;
  std::vector<const Policy*> rules() const override;
  bool has_quick_strategy() const override { return true; }
  std::optional<Strategy> quick_strategy(const Iteration& iteration, const Machine& machine) const override;
  void strategies(const Iteration& iteration, const Machine& machine, const EmitCandidate& emit) const override;

 private:
  const Policy* rest_of(const Policy& rival) const;

  std::vector<std::unique_ptr<Policy>> rivals_;  // recency is the first
  std::vector<std::unique_ptr<Policy>> others_;  // rules that are no candidates for plans
};

}  // namespace tessera
