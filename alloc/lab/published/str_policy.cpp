#include "lab/published/str_policy.hpp"

#include <optional>
#include <utility>

#include "planning/forecast.hpp"
#include "policy/capuchin_policy.hpp"
#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

// The choices for one gap; the first is to stay.
using Choices = std::vector<std::optional<OffloadInterval>>;

Choices choices_for(const PlanGround& ground, const Gap& gap) {
  Choices choices{std::nullopt, ground.in_time(gap)};
  if (choices.back()->back_at != gap.until) choices.push_back(OffloadInterval{.gap = gap, .back_at = gap.until});
  if (ground.iteration.runs[gap.run].recompute != Nanoseconds()) {
    choices.push_back(OffloadInterval{.gap = gap, .back_at = gap.until, .to = OffloadTarget::kRecomputed});
  }
  return choices;
}

// Advances to the next combination, like a counter; returns false after the last.
bool advance(std::vector<std::size_t>& chosen, const std::vector<Choices>& choices) {
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (++chosen[i] < choices[i].size()) return true;
    chosen[i] = 0;
  }
  return false;
}

}  // namespace

OffloadPlan StrPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  const PlanGround ground(iteration, machine);
  std::vector<Choices> choices;
  std::size_t combinations = 1;
  for (const Gap& gap : ground.gaps) {
    choices.push_back(choices_for(ground, gap));
    combinations *= choices.back().size();
    if (combinations > kMost) return CapuchinPolicy().plan(iteration, machine);
  }
  OffloadPlan best = ground.plan;
  Forecast reached = forecast(iteration, machine, best);
  std::vector<std::size_t> chosen(choices.size());
  while (advance(chosen, choices)) {
    OffloadPlan plan = ground.plan;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (choices[i][chosen[i]]) plan.push_back(*choices[i][chosen[i]]);
    }
    const Forecast result = forecast(iteration, machine, plan);
    if (!is_better(result, reached)) continue;
    best = std::move(plan);
    reached = result;
  }
  return best;
}

}  // namespace tessera
