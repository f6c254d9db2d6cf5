#include "lab/published/lamina_policy.hpp"

#include <utility>

#include "policy/plan_ground.hpp"

namespace tessera {

OffloadPlan LaminaPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  Bytes cache;
  for (const IterationRun& run : iteration.runs) {
    if (run.kind == RunClass::kKvCache) cache += run.bytes;
  }
  const bool lends = has_peer(machine) && machine.peer >= cache;
  std::vector<Gap> leaving;
  for (const Gap& gap : ground.gaps) {
    if (ground.class_of(gap) == RunClass::kKvCache) leaving.push_back(gap);
  }
  ground.leave_for_queue(std::move(leaving), lends ? Location::kPeer : Location::kHost);
  return std::move(ground.plan);
}

}  // namespace tessera
