#include "policy/capuchin_policy.hpp"

#include <algorithm>
#include <utility>

#include "planning/forecast.hpp"
#include "planning/occupancy.hpp"
#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

constexpr double kFeedback = 0.05;  // of a copy time, per round
constexpr int kRounds = 20;

struct Candidate {
  Gap gap;
  double free_time;
  double cost_per_byte;  // of the part that cannot be hidden
  Location to;
};

std::vector<Candidate> candidates_of(const PlanGround& ground) {
  std::vector<Candidate> candidates;
  for (const Gap& gap : ground.gaps) {
    Candidate one{gap, ground.time.free_time(gap), 0, Location::kHost};
    double cost = std::max(0.0, -one.free_time);
    const auto recompute = static_cast<double>(ground.iteration.runs[gap.run].recompute.value());
    if (one.free_time < 0 && recompute > 0 && recompute < cost) {
      cost = recompute;
      one.to = Location::kNowhere;
    }
    one.cost_per_byte = cost / static_cast<double>(std::max(ground.bytes_of(gap), 1_B).value());
    candidates.push_back(one);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if ((a.free_time >= 0) != (b.free_time >= 0)) return a.free_time >= 0;
    return a.free_time >= 0 ? a.free_time > b.free_time : a.cost_per_byte < b.cost_per_byte;
  });
  return candidates;
}

}  // namespace

OffloadPlan CapuchinPolicy::plan_with_lead(const Iteration& iteration, const Machine& machine, double lead) {
  PlanGround ground(iteration, machine);
  Occupancy occupancy(iteration, machine.device, ground.time);
  for (const Candidate& candidate : candidates_of(ground)) {
    if (occupancy.fits()) break;
    const double before = lead * ground.time.copy_in(candidate.gap.run);
    const bool recomputed = candidate.to == Location::kNowhere;
    OffloadInterval interval{.gap = candidate.gap,
                             .back_at = recomputed ? candidate.gap.until : ground.time.back_by(candidate.gap, before),
                             .to = candidate.to};
    // Without time to hide the copy the run stays away as long as possible and is fetched on demand.
    if (candidate.free_time < 0) interval.back_at = candidate.gap.until;
    if (!occupancy.helps(interval)) continue;
    occupancy.take(interval);
    ground.plan.push_back(interval);
  }
  return std::move(ground.plan);
}

OffloadPlan CapuchinPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  if (lead_ >= 0) return plan_with_lead(iteration, machine, lead_);
  OffloadPlan best = plan_with_lead(iteration, machine, 1);
  Forecast reached = forecast(iteration, machine, best);
  int useless = 0;
  for (int round = 1; round <= kRounds && reached.late > 0 && useless < 3; ++round) {
    OffloadPlan plan = plan_with_lead(iteration, machine, 1 + kFeedback * round);
    const Forecast result = forecast(iteration, machine, plan);
    if (!result.possible || result.makespan >= reached.makespan) {
      ++useless;
      continue;
    }
    useless = 0;
    best = std::move(plan);
    reached = result;
  }
  return best;
}

void CapuchinPolicy::strategies(const Iteration& iteration, const Machine& machine, const EmitCandidate& emit) const {
  if (!emit({name(), plan(iteration, machine), this}) || lead_ >= 0) return;
  for (int round = 0; round <= kRounds; ++round) {
    if (!emit({name(), plan_with_lead(iteration, machine, 1 + kFeedback * round), this})) return;
  }
}

}  // namespace tessera
