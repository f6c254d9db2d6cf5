#include "lab/published/lohan_policy.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "planning/forecast.hpp"
#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

// Computing time of the step that produces a run, per byte.
std::vector<double> dearness(const Iteration& iteration) {
  std::vector<double> dear(iteration.runs.size());
  for (std::uint32_t step = 0; step < iteration.steps.size(); ++step) {
    for (const RunUse& use : iteration.uses_of(step)) {
      if (!use.fresh) continue;
      const Bytes bytes = std::max(iteration.runs[use.run].bytes, 1_B);
      dear[use.run] = static_cast<double>(iteration.steps[step].duration.value()) / static_cast<double>(bytes.value());
    }
  }
  return dear;
}

std::vector<Gap> ranked(const PlanGround& ground) {
  const std::vector<double> dear = dearness(ground.iteration);
  std::vector<Gap> saved = ground.saved_activations();
  std::stable_sort(saved.begin(), saved.end(), [&](const Gap& a, const Gap& b) { return dear[a.run] > dear[b.run]; });
  return saved;
}

// The first ones go to the host while it has room, the others to the file if there is one.
void leave_by_room(PlanGround& ground, const std::vector<Gap>& leaving) {
  Bytes host_left = ground.machine.host;
  std::vector<Gap> host, file;
  for (const Gap& gap : leaving) {
    const Bytes bytes = ground.bytes_of(gap);
    const bool fits = bytes <= host_left || file_if_any(ground.machine) != Location::kFile;
    if (fits) host_left -= std::min(bytes, host_left);
    (fits ? host : file).push_back(gap);
  }
  ground.leave_for_queue(std::move(host), Location::kHost);
  ground.leave_for_queue(std::move(file), Location::kFile);
}

}  // namespace

OffloadPlan LohanPolicy::plan_moving(const Iteration& iteration, const Machine& machine, std::size_t count) {
  PlanGround ground(iteration, machine);
  std::vector<Gap> moving = ranked(ground);
  for (std::size_t i = count; i < moving.size(); ++i) {
    if (iteration.runs[moving[i].run].recompute == Nanoseconds()) continue;
    ground.plan.push_back({.gap = moving[i], .back_at = moving[i].until, .to = Location::kNowhere});
  }
  moving.resize(std::min(count, moving.size()));
  for (const Gap& gap : ground.gaps) {
    const RunClass kind = ground.class_of(gap);
    if (kind == RunClass::kOptimizer || kind == RunClass::kGradient) moving.push_back(gap);
  }
  leave_by_room(ground, moving);
  return std::move(ground.plan);
}

// A coarse grid first, then a finer one around its best point. With a single minimum that finds it, and a
// plateau or dent in the forecast does not mislead it, as it would a bisection.
OffloadPlan LohanPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  constexpr std::size_t kPoints = 8;
  std::optional<OffloadPlan> best;
  Forecast reached;
  std::size_t at = 0, low = 0, high = PlanGround(iteration, machine).saved_activations().size();
  for (;;) {
    const std::size_t stride = std::max<std::size_t>(1, (high - low) / kPoints);
    for (std::size_t count = low; count <= high; count += stride) {
      OffloadPlan plan = plan_moving(iteration, machine, count);
      const Forecast result = forecast(iteration, machine, plan);
      if (best && (!result.possible || result.makespan >= reached.makespan)) continue;
      reached = result;
      best = std::move(plan);
      at = count;
    }
    if (stride == 1) return *std::move(best);
    low = at > stride ? at - stride : 0;
    high = std::min(high, at + stride);
  }
}

}  // namespace tessera
