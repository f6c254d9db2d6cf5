#include "policy/plan_ground.hpp"

#include <algorithm>
#include <utility>

#include "planning/forecast.hpp"

namespace tessera {

PlanGround::PlanGround(const Iteration& the_iteration, const Machine& the_machine)
    : iteration(the_iteration),
      machine(the_machine),
      structure(find_structure(the_iteration)),
      time(the_iteration, the_machine) {
  for (const Gap& gap : find_gaps(iteration)) {
    if (iteration.runs[gap.run].pinned) continue;
    if (gap.dead) {
      plan.push_back({.gap = gap, .back_at = gap.until});
    } else if (time.steps_inside(gap) > 0) {
      gaps.push_back(gap);
    }
  }
}

std::vector<Gap> PlanGround::saved_among(const std::vector<Gap>& some) const {
  std::vector<Gap> saved;
  for (const Gap& gap : some) {
    const bool crosses = gap.after < structure.forward_end && gap.until >= structure.forward_end;
    if (class_of(gap) == RunClass::kActivation && !gap.wraps && !gap.dead && crosses) saved.push_back(gap);
  }
  std::stable_sort(saved.begin(), saved.end(), [](const Gap& a, const Gap& b) { return a.after < b.after; });
  return saved;
}

std::vector<Gap> PlanGround::saved_activations() const { return saved_among(gaps); }

std::vector<std::vector<Gap>> PlanGround::saved_by_layer() const {
  std::vector<Gap> all = find_gaps(iteration);
  std::erase_if(all, [&](const Gap& gap) { return iteration.runs[gap.run].pinned; });
  std::vector<std::vector<Gap>> layers;
  std::uint32_t last = 0;
  for (const Gap& gap : saved_among(all)) {
    const std::uint32_t layer = structure.layer_of[gap.after];
    if (layers.empty() || layer != last) layers.emplace_back();
    last = layer;
    layers.back().push_back(gap);
  }
  return layers;
}

std::uint32_t PlanGround::layers_between(const Gap& gap) const {
  const auto layers = static_cast<std::uint32_t>(structure.layer_begin.size());
  const std::uint32_t from = structure.layer_of[gap.after], to = structure.layer_of[gap.until];
  return gap.wraps ? to + layers - from : to - from;
}

OffloadInterval PlanGround::in_time(const Gap& gap, Location to) const {
  return {.gap = gap, .back_at = time.back_by(gap, time.copy_in(gap.run, to)), .to = to};
}

void PlanGround::leave_in_chain(std::vector<OffloadInterval> chosen, std::size_t ahead) {
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const OffloadInterval& a, const OffloadInterval& b) { return a.gap.until < b.gap.until; });
  std::vector<std::uint32_t> needs;  // steps, without duplicates
  for (OffloadInterval& interval : chosen) {
    const Gap& gap = interval.gap;
    if (needs.empty() || needs.back() != gap.until) needs.push_back(gap.until);
    const std::uint32_t before = needs.size() > ahead ? needs[needs.size() - 1 - ahead] : structure.forward_end;
    interval.back_at = before == gap.until ? gap.until : time.inside(gap, before);
    plan.push_back(interval);
  }
}

void PlanGround::leave_in_chain(const std::vector<Gap>& chosen, Location to, std::size_t ahead) {
  std::vector<OffloadInterval> whole;
  for (const Gap& gap : chosen) whole.push_back({.gap = gap, .to = to});
  leave_in_chain(std::move(whole), ahead);
}

void PlanGround::leave_for_queue(std::vector<Gap> chosen, Location to) {
  const auto count = static_cast<std::uint32_t>(iteration.steps.size());
  const auto need_of = [&](const Gap& gap) {
    return time.begin_of(gap.until) + (gap.wraps ? time.begin_of(count) : 0);
  };
  std::stable_sort(chosen.begin(), chosen.end(), [&](const Gap& a, const Gap& b) { return need_of(a) > need_of(b); });
  double start = chosen.empty() ? 0 : need_of(chosen.front());
  for (const Gap& gap : chosen) {
    start = std::min(start, need_of(gap)) - time.copy_in(gap.run, to);
    plan.push_back({.gap = gap, .back_at = time.back_by(gap, need_of(gap) - start), .to = to});
  }
}

void PlanGround::leave_for_layers(const Gap& gap, Location to, std::uint32_t ahead) {
  const auto layers = static_cast<std::uint32_t>(structure.layer_begin.size());
  const std::uint32_t layer = structure.layer_of[gap.until];
  const std::uint32_t before = (layer + layers - ahead % layers) % layers;
  plan.push_back({.gap = gap, .back_at = time.inside(gap, structure.layer_begin[before]), .to = to});
}

std::vector<bool> beside_weights(const Iteration& iteration, const Structure& structure, bool written) {
  std::vector<bool> beside(iteration.runs.size());
  for (std::uint32_t step = 0; step < structure.forward_end; ++step) {
    const auto uses = iteration.uses_of(step);
    const bool has_weight = std::any_of(
        uses.begin(), uses.end(), [&](const RunUse& use) { return structure.classes[use.run] == RunClass::kWeight; });
    if (!has_weight) continue;
    for (const RunUse& use : uses) {
      if (use.writes == written) beside[use.run] = true;
    }
  }
  return beside;
}

Bytes planned_peak(const Iteration& iteration, const Machine& machine, const OffloadPlan& plan) {
  Machine boundless = machine;
  boundless.device = Bytes();
  for (const IterationRun& run : iteration.runs) boundless.device += run.bytes;
  return forecast(iteration, boundless, plan).peak;
}

Location file_if_any(const Machine& machine) { return has_file(machine) ? Location::kFile : Location::kHost; }

}  // namespace tessera
