#include "policy/delta_policy.hpp"

#include <algorithm>
#include <utility>

#include "planning/occupancy.hpp"
#include "policy/plan_ground.hpp"
#include "policy/ranking.hpp"

namespace tessera {
namespace {

// Fixed cost of each move, in bytes: one page.
constexpr double kFixedCost = 2 << 20;

double relief_per_move(const RunPicture& run, Epoch now) {
  const auto bytes = static_cast<double>(run.bytes.value());
  const auto clean = static_cast<double>(std::min(run.clean, run.bytes).value());
  const double idle = static_cast<double>(now > run.used ? now - run.used : 0) + 1;
  return bytes * idle / (kFixedCost + 2 * bytes - clean);  // copied in again, and out unless clean
}

struct Filtered {
  OffloadInterval interval;
  double score;
};

Filtered direct(const PlanGround& ground, const Gap& gap) {
  const double swap = ground.time.copy_out(gap.run) + ground.time.copy_in(gap.run);
  const double exposed = std::max(0.0, -ground.time.free_time(gap));
  const auto recompute = static_cast<double>(ground.iteration.runs[gap.run].recompute.value());
  const bool recomputed = recompute > 0 && recompute < exposed;
  const double cost = recomputed ? recompute : swap;
  const double size = static_cast<double>(ground.bytes_of(gap).value());
  OffloadInterval interval =
      recomputed ? OffloadInterval{.gap = gap, .back_at = gap.until, .to = Location::kNowhere} : ground.in_time(gap);
  return {interval, size * ground.time.between(gap) / (cost + 1)};
}

}  // namespace

Decision DeltaPolicy::decide(const Snapshot& snapshot) const {
  std::vector<RankedRun> ranked;
  ranked.reserve(snapshot.runs.size());
  for (const RunPicture& run : snapshot.runs) ranked.push_back({&run, relief_per_move(run, snapshot.epoch)});
  return highest_first(std::move(ranked), snapshot.need);
}

OffloadPlan DeltaPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  std::vector<Filtered> filtered;
  for (const Gap& gap : ground.gaps) filtered.push_back(direct(ground, gap));
  std::stable_sort(filtered.begin(), filtered.end(),
                   [](const Filtered& a, const Filtered& b) { return a.score > b.score; });
  Occupancy occupancy(iteration, machine.device, ground.time);
  for (const Filtered& one : filtered) {
    if (occupancy.fits()) break;
    if (!occupancy.helps(one.interval)) continue;
    occupancy.take(one.interval);
    ground.plan.push_back(one.interval);
  }
  return std::move(ground.plan);
}

}  // namespace tessera
