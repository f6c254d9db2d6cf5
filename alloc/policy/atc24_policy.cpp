#include "policy/atc24_policy.hpp"

#include <algorithm>
#include <utility>

#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

constexpr Bytes kLeastBlock = 1_MiB;

AbsencePlan plan_of_share(const Iteration& iteration, const Machine& machine, double alpha) {
  PlanGround ground(iteration, machine);
  std::vector<Gap> chosen;
  double seen = 0, taken = 0;
  for (const Gap& gap : ground.saved_activations()) {
    if (ground.bytes_of(gap) <= kLeastBlock) continue;
    const auto bytes = static_cast<double>(ground.bytes_of(gap).value());
    seen += bytes;
    if (taken + bytes / 2 > alpha * seen) continue;
    taken += bytes;
    chosen.push_back(gap);
  }
  ground.leave_in_chain(std::move(chosen), Away::kHost);
  return std::move(ground.plan);
}

}  // namespace

AbsencePlan Atc24Policy::plan(const Iteration& iteration, const Machine& machine) const {
  if (alpha_ >= 0) return plan_of_share(iteration, machine, std::min(alpha_, 1.0));
  for (int tenths = 0; tenths < 10; ++tenths) {
    AbsencePlan plan = plan_of_share(iteration, machine, tenths / 10.0);
    if (planned_peak(iteration, machine, plan) <= machine.device) return plan;
  }
  return plan_of_share(iteration, machine, 1);
}

}  // namespace tessera
