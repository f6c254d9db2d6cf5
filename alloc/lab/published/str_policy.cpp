#include "lab/published/str_policy.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "planning/forecast.hpp"
#include "policy/capuchin_policy.hpp"
#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

// The choices for one gap; the first is to stay.
using Choices = std::vector<std::optional<OffloadInterval>>;

enum class Returns : std::uint8_t { kAnyStep, kInTimeOrOnDemand };

Choices choices_for(const PlanGround& ground, const Gap& gap, Returns returns) {
  Choices choices{std::nullopt, OffloadInterval{.gap = gap, .back_at = gap.until}};
  if (returns == Returns::kAnyStep) {
    for (std::uint32_t position = 0; position < ground.time.steps_inside(gap); ++position) {
      choices.push_back(OffloadInterval{.gap = gap, .back_at = ground.time.step_at(gap, position)});
    }
  } else if (const OffloadInterval early = ground.in_time(gap); early.back_at != gap.until) {
    choices.push_back(early);
  }
  if (ground.iteration.runs[gap.run].recompute != Nanoseconds()) {
    choices.push_back(OffloadInterval{.gap = gap, .back_at = gap.until, .to = Location::kNowhere});
  }
  return choices;
}

// Nothing where there are more than `most` combinations.
std::optional<std::vector<Choices>> all_choices(const PlanGround& ground, const std::vector<Gap>& gaps, Returns returns,
                                                std::size_t most) {
  std::vector<Choices> choices;
  std::size_t combinations = 1;
  for (const Gap& gap : gaps) {
    choices.push_back(choices_for(ground, gap, returns));
    combinations *= choices.back().size();
    if (combinations > most) return std::nullopt;
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

// By the step of the use that ends them, those that end in the next iteration last.
std::vector<Gap> in_order_of_need(std::vector<Gap> gaps) {
  std::ranges::stable_sort(gaps, {}, [](const Gap& gap) { return std::pair(gap.wraps, gap.until); });
  return gaps;
}

}  // namespace

OffloadPlan StrPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  const PlanGround ground(iteration, machine);
  const std::vector<Gap> gaps = in_order_of_need(ground.gaps);
  auto choices = all_choices(ground, gaps, Returns::kAnyStep, kMost);
  if (!choices) choices = all_choices(ground, gaps, Returns::kInTimeOrOnDemand, kMostRestricted);
  if (!choices) return CapuchinPolicy().plan(iteration, machine);
  OffloadPlan best = ground.plan;
  Forecast reached = forecast(iteration, machine, best);
  std::vector<std::size_t> chosen(choices->size());
  while (advance(chosen, *choices)) {
    OffloadPlan plan = ground.plan;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if ((*choices)[i][chosen[i]]) plan.push_back(*(*choices)[i][chosen[i]]);
    }
    const Forecast result = forecast(iteration, machine, plan);
    if (!is_better(result, reached)) continue;
    best = std::move(plan);
    reached = result;
  }
  return best;
}

}  // namespace tessera
