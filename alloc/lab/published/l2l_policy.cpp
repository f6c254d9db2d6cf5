#include "lab/published/l2l_policy.hpp"

#include <utility>

#include "policy/plan_ground.hpp"

namespace tessera {

OffloadPlan L2lPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  for (const Gap& gap : ground.gaps) {
    if (ground.layers_between(gap) > 0) ground.leave_for_layers(gap, Location::kHost, 1);
  }
  return std::move(ground.plan);
}

}  // namespace tessera
