#include "policy/auto_policy.hpp"

#include <utility>

#include "learn/excess_cover.hpp"
#include "learn/forecast.hpp"
#include "policy/recency_policy.hpp"

namespace tessera {
namespace {

// Covering looks at every step of every gap, several times, and launches wait meanwhile. Beyond so many
// the known next uses have to do.
constexpr std::size_t kMostWork = std::size_t{1} << 24;

}  // namespace

Decision AutoPolicy::decide(const Snapshot& snapshot) const {
  return RecencyPolicy().decide(snapshot);
}

AbsencePlan AutoPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  AbsencePlan best;
  if (iteration.uses.size() * iteration.steps.size() > kMostWork) return best;
  Forecast reached = forecast(iteration, machine, best);
  for (const GapOrder order : {GapOrder::kReliefPerCopy, GapOrder::kLongest, GapOrder::kLargest}) {
    AbsencePlan plan = cover_excess(iteration, machine, order);
    const Forecast result = forecast(iteration, machine, plan);
    if (!is_better(result, reached)) continue;
    best = std::move(plan);
    reached = result;
  }
  return best;
}

}  // namespace tessera
