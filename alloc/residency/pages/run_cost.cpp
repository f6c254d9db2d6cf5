#include "residency/pages/run_cost.hpp"

#include <algorithm>
#include <tuple>

namespace tessera {
namespace {

bool costs_more(const CostlyRun& a, const CostlyRun& b) {
  const auto key = [](const CostlyRun& run) { return std::tuple(run.cost.stalled, run.cost.all_moved()); };
  return key(a) > key(b);
}

}  // namespace

void CostliestRuns::offer(const CostlyRun& run) {
  if (run.cost.stalls == 0 && !run.cost.all_moved()) return;
  const auto at = std::upper_bound(runs_.begin(), runs_.end(), run, costs_more);
  if (at == runs_.end() && runs_.size() == kMost) return;
  runs_.insert(at, run);
  if (runs_.size() > kMost) runs_.pop_back();
}

}  // namespace tessera
