#include "lab/published/flashneuron_policy.hpp"

#include <algorithm>
#include <utility>

#include "policy/plan_ground.hpp"

namespace tessera {

OffloadPlan FlashneuronPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  const Bytes peak = planned_peak(iteration, machine, ground.plan);
  const Bytes over = peak > machine.device ? peak - machine.device : Bytes();
  const Location to = file_if_any(machine);
  const double forward = ground.time.begin_of(ground.structure.forward_end);
  std::vector<Gap> chosen;
  Bytes covered;
  double link_free = 0;
  for (const Gap& gap : ground.saved_activations()) {
    if (covered >= over) break;
    const double ready = ground.time.begin_of(gap.after + 1);
    const double end = std::max(link_free, ready) + ground.time.copy_out(gap.run, to);
    if (end > forward) continue;
    link_free = end;
    covered += ground.bytes_of(gap);
    chosen.push_back(gap);
  }
  ground.leave_for_queue(std::move(chosen), to);
  return std::move(ground.plan);
}

}  // namespace tessera
