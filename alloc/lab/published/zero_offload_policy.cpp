#include "lab/published/zero_offload_policy.hpp"

#include <utility>

#include "policy/plan_ground.hpp"

namespace tessera {

OffloadPlan ZeroOffloadPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  std::vector<Gap> idle;
  for (const Gap& gap : ground.gaps) {
    const RunClass kind = ground.class_of(gap);
    if (kind == RunClass::kOptimizer || kind == RunClass::kGradient) idle.push_back(gap);
  }
  ground.leave_for_queue(std::move(idle), Location::kHost);
  return std::move(ground.plan);
}

}  // namespace tessera
