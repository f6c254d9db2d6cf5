#include "lab/published/vdnn_policy.hpp"

#include <utility>

#include "policy/plan_ground.hpp"

namespace tessera {

OffloadPlan VdnnAllPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  ground.leave_in_chain(ground.saved_activations(), Location::kHost);
  return std::move(ground.plan);
}

OffloadPlan VdnnConvPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  const std::vector<bool> read = beside_weights(iteration, ground.structure, false);
  std::vector<Gap> inputs = ground.saved_activations();
  std::erase_if(inputs, [&](const Gap& gap) { return !read[gap.run]; });
  ground.leave_in_chain(std::move(inputs), Location::kHost);
  return std::move(ground.plan);
}

OffloadPlan VdnnDynPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  OffloadPlan none = PlanGround(iteration, machine).plan;
  if (planned_peak(iteration, machine, none) <= machine.device) return none;
  OffloadPlan conv = VdnnConvPolicy().plan(iteration, machine);
  if (planned_peak(iteration, machine, conv) <= machine.device) return conv;
  return VdnnAllPolicy().plan(iteration, machine);
}

}  // namespace tessera
