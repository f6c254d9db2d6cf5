// The figures of a part of a program: what the statistics and the costs of runs have grown by since it began.
//
// Thread safety: values.
#pragma once

#include <span>
#include <vector>

#include "api/history_report.hpp"
#include "api/stats_report.hpp"
#include "residency/pages/run_cost.hpp"

namespace tessera {

struct ProfileBegin {
  Nanoseconds at;  // since the program's run began
  StatsSnapshot stats;
  std::vector<CostlyRun> costs;
};

// Counts and times have the growth; sizes and peaks stay as they are `now`.
StatsSnapshot stats_since(const StatsSnapshot& before, StatsSnapshot now);
// A run is known by its address and size; one that has cost less than before is another one. A freed run of which only
// its freeing is new has cost nothing.
CostliestRuns costs_since(std::span<const CostlyRun> before, std::span<const CostlyRun> now);
// The policies from then on, beginning with the one that was active.
std::vector<PolicyTurn> turns_since(Nanoseconds begin, std::span<const PolicyTurn> turns);

}  // namespace tessera
