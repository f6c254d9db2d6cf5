#include "api/profile_figures.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace tessera {
namespace {

constexpr std::uint64_t tessera_stats::*kCounters[] = {&tessera_stats::allocations,
                                                       &tessera_stats::frees,
                                                       &tessera_stats::cache_hits,
                                                       &tessera_stats::bytes_in,
                                                       &tessera_stats::bytes_out,
                                                       &tessera_stats::bytes_file_read,
                                                       &tessera_stats::bytes_file_written,
                                                       &tessera_stats::bytes_peer_in,
                                                       &tessera_stats::bytes_peer_out,
                                                       &tessera_stats::fetches,
                                                       &tessera_stats::evictions,
                                                       &tessera_stats::forwards,
                                                       &tessera_stats::clean_evictions,
                                                       &tessera_stats::discards,
                                                       &tessera_stats::stalls,
                                                       &tessera_stats::stall_ns,
                                                       &tessera_stats::late_fetches,
                                                       &tessera_stats::launches,
                                                       &tessera_stats::uses,
                                                       &tessera_stats::dropped_bytes,
                                                       &tessera_stats::recomputes,
                                                       &tessera_stats::recomputed_bytes,
                                                       &tessera_stats::recompute_ns,
                                                       &tessera_stats::checks,
                                                       &tessera_stats::checks_changed,
                                                       &tessera_stats::unchanged_evictions,
                                                       &tessera_stats::unchanged_bytes,
                                                       &tessera_stats::idle_sleeps,
                                                       &tessera_stats::left_unreachable,
                                                       &tessera_stats::exchanges};

// None if it is less than before in any part.
std::optional<RunCost> growth(const RunCost& before, const RunCost& now) {
  RunCost cost = now;
  if (now.stalls < before.stalls || now.stalled < before.stalled) return std::nullopt;
  cost.stalls -= before.stalls;
  cost.stalled = now.stalled - before.stalled;
  for (std::size_t i = 0; i < kLinks; ++i) {
    if (now.moved[i] < before.moved[i]) return std::nullopt;
    cost.moved[i] -= before.moved[i];
  }
  return cost;
}

}  // namespace

StatsSnapshot stats_since(const StatsSnapshot& before, StatsSnapshot now) {
  for (const auto counter : kCounters) now.totals.*counter -= before.totals.*counter;
  for (const StatsSnapshot::Stalls& old : before.causes) {
    const auto cause = std::ranges::find(now.causes, old.name, &StatsSnapshot::Stalls::name);
    if (cause == now.causes.end()) continue;
    cause->stalls -= old.stalls;
    cause->time = cause->time - old.time;
  }
  std::erase_if(now.causes, [](const StatsSnapshot::Stalls& cause) { return cause.stalls == 0 && !cause.time; });
  return now;
}

CostliestRuns costs_since(std::span<const CostlyRun> before, std::span<const CostlyRun> now) {
  using Key = std::pair<Address, Bytes>;
  std::map<Key, RunCost> live;
  std::multimap<Key, RunCost> gone;
  for (const CostlyRun& run : before) {
    if (run.gone)
      gone.emplace(Key(run.address, run.bytes), run.cost);
    else
      live.emplace(Key(run.address, run.bytes), run.cost);
  }
  const auto had_gone = [&](const CostlyRun& run) {
    const auto [first, last] = gone.equal_range(Key(run.address, run.bytes));
    return std::any_of(first, last, [&](const auto& known) { return known.second == run.cost; });
  };
  CostliestRuns costliest;
  for (CostlyRun run : now) {
    if (run.gone && had_gone(run)) continue;
    const auto known = live.find(Key(run.address, run.bytes));
    if (known != live.end()) run.cost = growth(known->second, run.cost).value_or(run.cost);
    costliest.offer(run);
  }
  return costliest;
}

std::vector<PolicyTurn> turns_since(Nanoseconds begin, std::span<const PolicyTurn> turns) {
  std::vector<PolicyTurn> since;
  for (const PolicyTurn& turn : turns) {
    if (turn.from <= begin) since.clear();
    since.push_back({turn.from <= begin ? Nanoseconds() : turn.from - begin, turn.name});
  }
  return since;
}

}  // namespace tessera
