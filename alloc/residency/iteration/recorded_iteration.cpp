#include "residency/iteration/recorded_iteration.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

namespace tessera {
namespace {

// A block is not held beyond the step before its run's next use: that use belongs to another block.
void bound_lingering(Iteration& iteration) {
  Iteration all = with_small_runs(iteration);
  const std::vector<std::uint32_t> distances = next_use_distances(all);
  const std::vector<bool> last = last_uses_before_fresh(all);
  for (std::size_t i = 0; i < all.uses.size(); ++i) {
    if (!last[i]) continue;
    std::uint32_t& lingers = all.runs[all.uses[i].run].lingers;
    lingers = std::min(lingers, distances[i] - 1);
  }
  const auto small = all.runs.begin() + static_cast<std::ptrdiff_t>(iteration.runs.size());
  std::copy(all.runs.begin(), small, iteration.runs.begin());
  std::copy(small, all.runs.end(), iteration.small.runs.begin());
}

// In order of first appearance; beyond the maximum, streams share a number.
std::uint32_t place_of(StreamId stream, std::vector<StreamId>& streams) {
  const auto known = std::ranges::find(streams, stream);
  const auto place = static_cast<std::uint32_t>(known - streams.begin());
  if (known == streams.end()) streams.push_back(stream);
  return place % kMostStreams;
}

// The latest use noted of a run.
struct LastUse {
  std::uint32_t use = 0;  // into the uses of an iteration
  std::size_t step = 0;   // into the launches
};
using LastUses = std::unordered_map<std::uint64_t, LastUse>;  // by name

std::uint32_t parts_in(const LaunchRecord& record, std::size_t begin, std::size_t end) {
  std::uint32_t parts = 0;
  for (std::size_t step = begin; step < end; ++step) parts += record.launches[step].parts;
  return parts;
}

LastUses last_uses(const LaunchRecord& record, std::size_t begin, std::size_t end, std::uint32_t use = 0) {
  LastUses last;
  for (std::size_t step = begin; step < end; ++step) {
    for (const RecordedUse& mention : record.parts_of(record.launches[step])) last[mention.run] = {use++, step};
  }
  return last;
}

// The launches between this step and the free; 0 also where that is not known.
std::uint32_t steps_until(const LaunchRecord& record, std::uint64_t freed_at, std::size_t step) {
  const auto behind = record.launches.begin() + static_cast<std::ptrdiff_t>(step) + 1;
  const auto next = std::ranges::upper_bound(behind, record.launches.end(), freed_at, {}, &RecordedLaunch::number);
  return static_cast<std::uint32_t>(next - behind);
}

// The launches between the last use of a run and its free, if the record knows that.
std::optional<std::uint32_t> steps_to_recorded_free(const LaunchRecord& record, std::uint64_t run, std::size_t step) {
  const auto known = record.freed_at.find(run);
  if (known == record.freed_at.end() || known->second < record.launches[step].number) return std::nullopt;
  return steps_until(record, known->second, step);
}

// A slab keeps its address and has several lives: each fresh use begins one. The last life continues into the next
// iteration, unless that begins with a fresh use too.
void add_small_runs(const LaunchRecord& record, std::size_t begin, Iteration& iteration) {
  struct Slab {
    std::optional<std::uint32_t> first, last;  // life in this iteration, as number of its run
    bool goes_on = false;                      // the first life began before the iteration
    std::size_t used = 0;                      // last step that used it
    std::uint32_t lingered = 0;                // steps that the life before the first was held
  };
  std::unordered_map<std::uint64_t, Slab> slabs;  // by name
  SmallRuns& small = iteration.small;
  for (std::size_t step = begin - std::min(begin, record.launches.size() - begin); step < record.launches.size();
       ++step) {
    for (const RecordedUse& mention : record.small_of(record.launches[step])) {
      const auto [known, is_new] = slabs.try_emplace(mention.run);
      Slab& slab = known->second;
      const std::uint32_t lingered = mention.fresh && !is_new ? steps_until(record, mention.freed_at, slab.used) : 0;
      slab.used = step;
      if (step < begin) continue;
      if (mention.fresh || !slab.last) {
        (slab.last ? small.runs[*slab.last].lingers : slab.lingered) = lingered;
        slab.goes_on |= !mention.fresh;
        slab.last = static_cast<std::uint32_t>(small.runs.size());
        if (!slab.first) slab.first = slab.last;
        small.runs.push_back({.bytes = mention.bytes, .tag = mention.tag, .pinned = mention.pinned});
      }
      small.uses.push_back({.run = *slab.last, .writes = mention.writes, .fresh = mention.fresh});
    }
    if (step >= begin) small.ends.push_back(static_cast<std::uint32_t>(small.uses.size()));
  }
  std::vector<std::uint32_t> same(small.runs.size());  // the run that represents each
  std::iota(same.begin(), same.end(), 0u);
  for (const auto& [name, slab] : slabs) {
    if (!slab.first) continue;
    const std::uint32_t lingered = slab.goes_on ? small.runs[*slab.first].lingers : slab.lingered;
    small.runs[*slab.last].lingers = steps_to_recorded_free(record, name, slab.used).value_or(lingered);
    if (slab.goes_on) same[*slab.first] = *slab.last;
  }
  for (RunUse& use : small.uses) use.run = same[use.run];
}

// The last `launches` use what those of the round before them used, or what was reallocated since.
bool uses_known_memory(const LaunchRecord& record, std::size_t period, std::size_t launches) {
  const std::size_t begin = record.launches.size() - launches;
  LastUses known = last_uses(record, begin - std::min(begin, period), begin);
  for (const RecordedLaunch& step : std::span(record.launches).subspan(begin)) {
    for (const RecordedUse& mention : record.parts_of(step)) {
      if (known.try_emplace(mention.run).second && !mention.fresh) return false;
    }
  }
  return true;
}

bool uses_equal_memory(const LaunchRecord& record, std::size_t step, std::size_t before) {
  const auto is_equal = [](const RecordedUse& a, const RecordedUse& b) { return a.fresh || a.run == b.run; };
  return std::ranges::equal(record.parts_of(record.launches[step]), record.parts_of(record.launches[before]), is_equal);
}

}  // namespace

// A block held when the iteration began was used in the iteration before. Since both are the same iteration, the run of
// that use there is the run of this one here.
Iteration iteration_of(const LaunchRecord& record, std::size_t period, std::size_t alike) {
  const std::size_t begin = record.launches.size() - period;
  const std::size_t earlier = std::min({begin, period, alike});
  const LastUses before =
      last_uses(record, begin - earlier, begin, parts_in(record, begin, record.launches.size() - earlier));
  std::unordered_map<std::uint64_t, std::uint32_t> number_of;  // of a run, by name
  LastUses last;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;  // a run, and a use that also belongs to it
  std::vector<std::pair<std::uint32_t, std::uint32_t>> held;   // a use, and the steps that its block was held after it
  std::vector<StreamId> streams;
  Iteration iteration;
  for (std::size_t index = begin; index < record.launches.size(); ++index) {
    const auto first = static_cast<std::uint32_t>(iteration.uses.size());
    for (const RecordedUse& mention : record.parts_of(record.launches[index])) {
      const auto [known, is_new] = number_of.try_emplace(mention.run);
      const LastUses& earlier = is_new ? before : last;
      const auto use_before = earlier.find(mention.run);
      if (mention.fresh && use_before != earlier.end()) {
        held.push_back({use_before->second.use, steps_until(record, mention.freed_at, use_before->second.step)});
      }
      if (is_new || mention.fresh) {
        known->second = static_cast<std::uint32_t>(iteration.runs.size());
        iteration.runs.push_back({.bytes = mention.bytes, .tag = mention.tag, .pinned = mention.pinned});
        if (!mention.fresh && use_before != earlier.end()) links.push_back({known->second, use_before->second.use});
      }
      Nanoseconds& recompute = iteration.runs[known->second].recompute;
      recompute = std::max(recompute, mention.recomputed_in);
      last[mention.run] = {static_cast<std::uint32_t>(iteration.uses.size()), index};
      iteration.uses.push_back({.run = known->second, .writes = mention.writes, .fresh = mention.fresh});
    }
    iteration.steps.push_back({.first_use = first,
                               .end_use = static_cast<std::uint32_t>(iteration.uses.size()),
                               .stream = place_of(record.launches[index].stream, streams)});
  }
  const auto hold_until_free = [&](std::uint64_t run, const LastUse& use) {
    if (const auto steps = steps_to_recorded_free(record, run, use.step)) held.push_back({use.use, *steps});
  };
  for (const auto& [run, use] : before) {
    if (!last.contains(run)) hold_until_free(run, use);
  }
  for (const auto& [run, use] : last) hold_until_free(run, use);
  add_small_runs(record, begin, iteration);
  std::vector<std::uint32_t> same(iteration.runs.size());  // the run that represents each
  std::iota(same.begin(), same.end(), 0u);
  for (const auto& [run, use] : links) {
    same[run] = iteration.uses[use].run;
    Nanoseconds& recompute = iteration.runs[same[run]].recompute;
    recompute = std::max(recompute, iteration.runs[run].recompute);
  }
  for (RunUse& use : iteration.uses) {
    // A chain ends at a run that the iteration itself allocates, or returns to where it began.
    for (std::size_t i = 0; i < same.size() && same[use.run] != use.run; ++i) use.run = same[use.run];
  }
  for (const auto& [use, steps] : held) iteration.runs[iteration.uses[use].run].lingers = steps;
  bound_lingering(iteration);
  return iteration;
}

// Memory also counts as the same when blocks have swapped places in the next round.
std::size_t same_memory_after(const LaunchRecord& record, std::size_t period, std::size_t sure) {
  if (uses_known_memory(record, period, std::max(period, std::min(sure, record.launches.size() - period))))
    return period;
  const std::size_t last = record.launches.size() - 1;
  for (std::size_t round = 2; round <= kMostRounds && 2 * round * period <= record.launches.size(); ++round) {
    const std::size_t launches = round * period;
    std::size_t equal = 0;
    while (equal < launches && uses_equal_memory(record, last - equal, last - equal - launches)) ++equal;
    if (equal == launches) return launches;
  }
  return 0;
}

std::vector<LastSeen> last_seen(const LaunchRecord& record, const Iteration& iteration) {
  std::vector<LastSeen> last(iteration.runs.size());
  auto use = iteration.uses.begin();
  for (const RecordedLaunch& step : std::span(record.launches).last(iteration.steps.size())) {
    for (const RecordedUse& mention : record.parts_of(step)) last[(use++)->run] = {mention.run, step.epoch};
  }
  return last;
}

}  // namespace tessera
