#include "lab/published/te_groups_policy.hpp"

#include <algorithm>
#include <utility>

#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

constexpr Bytes kLeastTensor = 512_KiB;

std::uint32_t first_need(const std::vector<Gap>& layer) {
  std::uint32_t step = layer.front().until;
  for (const Gap& gap : layer) step = std::min(step, gap.until);
  return step;
}

OffloadPlan plan_leaving(const Iteration& iteration, const Machine& machine, std::size_t leaving) {
  PlanGround ground(iteration, machine);
  const std::vector<std::vector<Gap>> layers = ground.saved_by_layer();
  leaving = std::min(leaving, layers.empty() ? 0 : layers.size() - 1);
  for (std::size_t i = 0; i < leaving; ++i) {
    const std::uint32_t back = first_need(layers[layers.size() - 1 - leaving + i]);
    for (const Gap& gap : layers[i]) {
      if (ground.bytes_of(gap) < kLeastTensor || ground.time.steps_inside(gap) == 0) continue;
      const std::uint32_t inside = back == gap.until ? back : ground.time.inside(gap, back);
      ground.plan.push_back({.gap = gap, .back_at = inside});
    }
  }
  return std::move(ground.plan);
}

}  // namespace

OffloadPlan TeGroupsPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  if (layers_ >= 0) return plan_leaving(iteration, machine, static_cast<std::size_t>(layers_));
  std::size_t low = 0, high = PlanGround(iteration, machine).saved_by_layer().size();
  while (low < high) {  // binary search: the peak falls with each layer
    const std::size_t middle = low + (high - low) / 2;
    if (planned_peak(iteration, machine, plan_leaving(iteration, machine, middle)) <= machine.device) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return plan_leaving(iteration, machine, low);
}

}  // namespace tessera
