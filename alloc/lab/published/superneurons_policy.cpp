#include "lab/published/superneurons_policy.hpp"

#include <utility>

#include "policy/lru_policy.hpp"
#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

// Recomputes the runs for each of their uses in the backward pass.
void recompute_for_each_use(PlanGround& ground, const std::vector<bool>& outputs) {
  for (const Gap& gap : ground.gaps) {
    if (gap.wraps || gap.after < ground.structure.forward_end || outputs[gap.run]) continue;
    if (ground.class_of(gap) != RunClass::kActivation) continue;
    if (ground.iteration.runs[gap.run].recompute == Nanoseconds()) continue;
    ground.plan.push_back({.gap = gap, .back_at = gap.until, .to = Location::kNowhere});
  }
}

}  // namespace

Decision SuperneuronsPolicy::decide(const Snapshot& snapshot) const { return LruPolicy().decide(snapshot); }

OffloadPlan SuperneuronsPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  if (planned_peak(iteration, machine, ground.plan) <= machine.device) return std::move(ground.plan);
  const std::vector<bool> outputs = beside_weights(iteration, ground.structure, true);
  std::vector<Gap> leaving;
  for (const Gap& gap : ground.saved_activations()) {
    if (outputs[gap.run]) {
      leaving.push_back(gap);
    } else if (iteration.runs[gap.run].recompute != Nanoseconds()) {
      ground.plan.push_back({.gap = gap, .back_at = gap.until, .to = Location::kNowhere});
    }
  }
  ground.leave_in_chain(std::move(leaving), Location::kHost);
  if (planned_peak(iteration, machine, ground.plan) > machine.device) {
    recompute_for_each_use(ground, outputs);
  }
  return std::move(ground.plan);
}

}  // namespace tessera
