#include "policy/auto_policy.hpp"

#include <utility>

#include "learn/excess_cover.hpp"
#include "learn/forecast.hpp"
#include "learn/lookahead.hpp"
#include "policy/capuchin_policy.hpp"
#include "policy/delta_policy.hpp"
#include "policy/mpress_policy.hpp"
#include "policy/recency_policy.hpp"

namespace tessera {
namespace {

// Covering looks at every step of every gap, several times, and launches wait meanwhile. Beyond so
// many the known next uses have to do.
constexpr std::size_t kMostWork = std::size_t{1} << 24;

// How early runs may come back: parts of an iteration.
constexpr std::uint64_t kLeads[] = {256, 64, 16, 8, 4};

}  // namespace

Decision AutoPolicy::decide(const Snapshot& snapshot) const {
  return RecencyPolicy().decide(snapshot);
}

AbsencePlan AutoPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  if (iteration.uses.size() * iteration.steps.size() > kMostWork) return {};
  AbsencePlan best;
  Forecast reached = forecast(iteration, machine, best);
  const auto offer = [&](AbsencePlan plan) {
    const Forecast result = forecast(iteration, machine, plan);
    if (!is_better(result, reached)) return;
    best = std::move(plan);
    reached = result;
  };
  for (const GapOrder order : {GapOrder::kReliefPerCopy, GapOrder::kLongest, GapOrder::kLargest}) {
    offer(cover_excess(iteration, machine, order));
  }
  Nanoseconds period;
  for (const IterationStep& step : iteration.steps) period += step.duration;
  for (const std::uint64_t part : kLeads) {
    offer(look_ahead(iteration, machine, Nanoseconds(period.value() / part)));
  }
  offer(CapuchinPolicy().plan(iteration, machine));
  offer(DeltaPolicy().plan(iteration, machine));
  offer(MpressPolicy().plan(iteration, machine));
  return best;
}

}  // namespace tessera
