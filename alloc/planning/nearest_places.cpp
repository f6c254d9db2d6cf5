#include "planning/nearest_places.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace tessera {
namespace {

constexpr std::uint64_t kTurnsSpent = 2;  // the first pass sets up the intervals that cross the end of an iteration

// Of the intervals with target host, as many as fit into `room` become `near`, the others `beyond`.
OffloadPlan spend(const Iteration& iteration, OffloadPlan plan, Location near, Location beyond, Bytes room) {
  const std::uint64_t count = iteration.steps.size();
  std::vector<std::size_t> order;  // of their beginnings
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!plan[i].gap.dead && plan[i].to == Location::kHost) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return plan[i].gap.after; });
  const auto bytes_of = [&](const OffloadInterval& interval) {
    return std::min(interval.part, iteration.runs[interval.gap.run].bytes);
  };
  std::set<std::pair<std::uint64_t, std::size_t>> there;  // by their next use
  std::vector<bool> gave_way(plan.size());                // permanently: it would have to again in the next pass
  Bytes used;
  const auto end = [&](auto at) {
    used -= bytes_of(plan[at->second]);
    there.erase(at);
  };
  for (std::uint64_t turn = 0; turn < kTurnsSpent; ++turn) {
    for (const std::size_t i : order) {
      if (gave_way[i]) continue;
      OffloadInterval& interval = plan[i];
      while (!there.empty() && there.begin()->first <= turn * count + interval.gap.after) end(there.begin());
      there.emplace((turn + (interval.gap.wraps ? 1 : 0)) * count + interval.gap.until, i);
      interval.to = near;
      used += bytes_of(interval);
      while (used > room) {
        const auto last = std::prev(there.end());
        plan[last->second].to = beyond;
        gave_way[last->second] = true;
        end(last);
      }
    }
  }
  return plan;
}

}  // namespace

OffloadPlan spend_with_peer(const Iteration& iteration, const Machine& machine, OffloadPlan plan) {
  if (!has_peer(machine)) return plan;
  return spend(iteration, std::move(plan), Location::kPeer, Location::kHost, machine.peer);
}

bool needs_file(const Iteration& iteration, const Machine& machine) {
  Bytes all;
  for (const auto* runs : {&iteration.runs, &iteration.others}) {
    for (const IterationRun& run : *runs) all += run.bytes;
  }
  return has_file(machine) && all > machine.device + machine.host;
}

OffloadPlan spend_in_file(const Iteration& iteration, const Machine& machine, OffloadPlan plan) {
  if (!has_file(machine)) return plan;
  return spend(iteration, std::move(plan), Location::kHost, Location::kFile, machine.host);
}

}  // namespace tessera
