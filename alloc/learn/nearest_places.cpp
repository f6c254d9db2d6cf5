#include "learn/nearest_places.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace tessera {
namespace {

constexpr std::uint64_t kTurnsSpent = 2;  // the first pass sets up the intervals that cross the end of an iteration

// Of the intervals with target host, as many as fit into `room` become `near`, the others `beyond`.
AbsencePlan spend(const Iteration& iteration, AbsencePlan plan, Away near, Away beyond, Bytes room) {
  const std::uint64_t count = iteration.steps.size();
  std::vector<std::size_t> order;  // of their beginnings
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!plan[i].gap.dead && plan[i].to == Away::kHost) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return plan[i].gap.after; });
  const auto bytes_of = [&](const Absence& absence) {
    return std::min(absence.part, iteration.runs[absence.gap.run].bytes);
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
      Absence& absence = plan[i];
      while (!there.empty() && there.begin()->first <= turn * count + absence.gap.after) end(there.begin());
      there.emplace((turn + (absence.gap.wraps ? 1 : 0)) * count + absence.gap.until, i);
      absence.to = near;
      used += bytes_of(absence);
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

AbsencePlan spend_with_peer(const Iteration& iteration, const Machine& machine, AbsencePlan plan) {
  if (!has_peer(machine)) return plan;
  return spend(iteration, std::move(plan), Away::kPeer, Away::kHost, machine.peer);
}

bool needs_file(const Iteration& iteration, const Machine& machine) {
  Bytes all;
  for (const auto* runs : {&iteration.runs, &iteration.others}) {
    for (const IterationRun& run : *runs) all += run.bytes;
  }
  return has_file(machine) && all > machine.device + machine.host;
}

AbsencePlan spend_in_file(const Iteration& iteration, const Machine& machine, AbsencePlan plan) {
  if (!has_file(machine)) return plan;
  return spend(iteration, std::move(plan), Away::kHost, Away::kFile, machine.host);
}

}  // namespace tessera
