// Ours: recency until the iteration is learned, then the best of several plans for it.
//
// Plans differ in which gaps they take first and how early runs come back; which of them suits a program
// depends on where its memory peaks and how fast the links are, so all are made, those of the best
// published planners with ours, and the forecast decides. No plan is among them: where nothing can be
// hidden, Belady's rule on known next uses moves the fewest bytes.
//
// Sources: free time, Capuchin (papers.md §3.3); the queue of each link, FlashNeuron (§5.2);
// simulation as the judge, SwapAdvisor (§3.4).
//
// Bounds: an iteration of so many launches and uses that planning would take seconds is not planned.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class AutoPolicy final : public Policy {
 public:
  std::string_view name() const override { return "auto"; }
  Decision decide(const Snapshot& snapshot) const override;
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
