#include "residency/iteration/launch_history.hpp"

#include <algorithm>
#include <numeric>

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

}  // namespace

void LaunchHistory::remember(const LaunchLog::Launch& launch, std::uint64_t signature,
                             std::span<const LaunchLog::Use> uses, std::size_t parts, Nanoseconds now) {
  steps_.push_back({.work = launch.work,
                    .epoch = launch.epoch,
                    .signature = signature,
                    .first = static_cast<std::uint32_t>(mentions_.size()),
                    .parts = static_cast<std::uint32_t>(parts),
                    .small = static_cast<std::uint32_t>(uses.size() - parts),
                    .stream = launch.stream,
                    .read_at = now,
                    .watch = launch.watch});
  for (const LaunchLog::Use& use : uses) {
    mentions_.push_back({use.run->name, use.run->shape.bytes(), use.run->tag, use.run->is_pinned(), use.writes,
                         use.fresh, use.writes ? Nanoseconds() : use.recomputed_in, use.freed});
    if (!use.fresh || freed_.empty()) continue;
    const auto rewritten = freed_.extract(use.run->name);
    if (rewritten && use.freed.is_never()) mentions_.back().freed = rewritten.mapped();
  }
}

std::vector<std::uint64_t> LaunchHistory::last_signatures(std::size_t launches) const {
  std::vector<std::uint64_t> signatures;
  for (const Step& step : std::span(steps_).last(std::min(launches, steps_.size())))
    signatures.push_back(step.signature);
  return signatures;
}

void LaunchHistory::remember_other(const LaunchLog::OtherWork& other) {
  if (others_.size() >= 2 * kMostSteps) return watches_.give_back(other.watch);
  others_.push_back({.launch = next(), .stream = other.stream, .watch = other.watch});
}

// Launches behind the first that is not over are most likely not over either.
void LaunchHistory::read_watches() {
  for (; unread_others_ < others_.size(); ++unread_others_) {
    Other& other = others_[unread_others_];
    if (!other.watch) continue;
    const Result<Nanoseconds> time = watches_.read(*other.watch);
    if (time.status().code() == Code::kNotReady) break;
    other.watch.reset();
    if (time.is_ok()) other.duration = time.value();
  }
  for (; unread_ < steps_.size(); ++unread_) {
    Step& step = steps_[unread_];
    if (!step.watch) continue;
    const Result<Nanoseconds> time = watches_.read(*step.watch);
    if (time.status().code() == Code::kNotReady) return;
    step.watch.reset();
    if (!time.is_ok()) continue;
    step.duration = std::max(time.value(), Nanoseconds(1));
    if (newest_.size() >= kMostSteps) newest_.clear();
    if (by_work_.size() >= kMostSteps) by_work_.clear();
    newest_[step.signature] = by_work_[step.work] = step.duration;
  }
}

void LaunchHistory::drop_oldest(std::size_t steps) {
  for (const Step& step : std::span(steps_).first(steps)) {
    if (step.watch) watches_.give_back(*step.watch);
  }
  dropped_ += steps;
  const auto kept = std::ranges::lower_bound(others_, dropped_, {}, &Other::launch);
  for (auto other = others_.begin(); other != kept; ++other) {
    if (other->watch) watches_.give_back(*other->watch);
  }
  unread_others_ -= std::min(unread_others_, static_cast<std::size_t>(kept - others_.begin()));
  others_.erase(others_.begin(), kept);
  unread_ -= std::min(unread_, steps);
  const std::uint32_t dropped =
      steps < steps_.size() ? steps_[steps].first : static_cast<std::uint32_t>(mentions_.size());
  steps_.erase(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(steps));
  mentions_.erase(mentions_.begin(), mentions_.begin() + dropped);
  for (Step& step : steps_) step.first -= dropped;
}

void LaunchHistory::trim(std::uint64_t needed) {
  if (mentions_.size() > kMostMentions || size() >= 2 * kMostSteps) return drop_oldest((size() + 1) / 2);
  if (size() < kMostSteps || needed == dropped_) return;
  const std::uint64_t idle = needed < dropped_ ? size() : needed - dropped_;
  drop_oldest(std::min<std::uint64_t>(kMostSteps / 2, idle));
}

// A block held when the iteration began was used in the iteration before. Since both are the same iteration, the run of
// that use there is the run of this one here.
Iteration LaunchHistory::iteration(std::size_t period, std::size_t alike) const {
  const std::size_t begin = steps_.size() - period;
  const std::size_t earlier = std::min({begin, period, alike});
  const LastUses before = last_uses(begin - earlier, begin, parts_in(begin, steps_.size() - earlier));
  std::unordered_map<std::uint64_t, std::uint32_t> number_of;  // of a run, by name
  LastUses last;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;  // a run, and a use that also belongs to it
  std::vector<std::pair<std::uint32_t, std::uint32_t>> held;   // a use, and the steps that its block was held after it
  std::vector<StreamId> streams;
  Iteration iteration;
  for (std::size_t index = begin; index < steps_.size(); ++index) {
    const auto first = static_cast<std::uint32_t>(iteration.uses.size());
    for (const Mention& mention : parts_of(steps_[index])) {
      const auto [known, is_new] = number_of.try_emplace(mention.run);
      const LastUses& earlier = is_new ? before : last;
      const auto use_before = earlier.find(mention.run);
      if (mention.fresh && use_before != earlier.end()) {
        held.push_back({use_before->second.use, steps_until(mention.freed, use_before->second.step)});
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
                               .stream = place_of(steps_[index].stream, streams)});
  }
  add_small_runs(begin, iteration);
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
std::size_t LaunchHistory::same_memory_after(std::size_t period, std::size_t sure) const {
  if (uses_known_memory(period, std::max(period, std::min(sure, steps_.size() - period)))) return period;
  const std::size_t last = steps_.size() - 1;
  for (std::size_t round = 2; round <= kMostRounds && 2 * round * period <= steps_.size(); ++round) {
    const std::size_t launches = round * period;
    std::size_t equal = 0;
    while (equal < launches && uses_equal_memory(last - equal, last - equal - launches)) ++equal;
    if (equal == launches) return launches;
  }
  return 0;
}

// The last `launches` use what those of the round before them used, or what was reallocated since.
bool LaunchHistory::uses_known_memory(std::size_t period, std::size_t launches) const {
  const std::size_t begin = steps_.size() - launches;
  LastUses known = last_uses(begin - std::min(begin, period), begin);
  for (const Step& step : std::span(steps_).subspan(begin)) {
    for (const Mention& mention : parts_of(step)) {
      if (known.try_emplace(mention.run).second && !mention.fresh) return false;
    }
  }
  return true;
}

bool LaunchHistory::uses_equal_memory(std::size_t step, std::size_t before) const {
  const auto is_equal = [](const Mention& a, const Mention& b) { return a.fresh || a.run == b.run; };
  return std::ranges::equal(parts_of(steps_[step]), parts_of(steps_[before]), is_equal);
}

// From the launch before the first to the last.
Nanoseconds LaunchHistory::took(std::size_t period) const {
  const std::size_t before = steps_.size() - std::min(period + 1, steps_.size());
  return steps_.back().read_at - steps_[before].read_at;
}

std::vector<LaunchHistory::LastSeen> LaunchHistory::last_seen(const Iteration& iteration) const {
  std::vector<LastSeen> last(iteration.runs.size());
  auto use = iteration.uses.begin();
  for (const Step& step : std::span(steps_).last(iteration.steps.size())) {
    for (const Mention& mention : parts_of(step)) last[(use++)->run] = {mention.run, step.epoch};
  }
  return last;
}

std::vector<Nanoseconds> LaunchHistory::durations(std::uint64_t first, std::size_t period) const {
  const std::unordered_map<std::uint64_t, Nanoseconds> means = mean_durations();
  std::vector<Nanoseconds> durations(period);
  for (std::size_t i = 0; i < period; ++i) {
    if (first + i < dropped_) continue;
    const std::size_t own = first + i - dropped_;
    const std::uint64_t signature = steps_[own].signature;
    const auto take = [&](std::size_t index) {
      if (!durations[i] && index < steps_.size() && steps_[index].signature == signature) {
        durations[i] = steps_[index].duration;
      }
    };
    take(own);
    take(own + period);
    take(own + 2 * period);
    if (own >= period) take(own - period);
    if (durations[i]) continue;
    if (const auto mean = means.find(signature); mean != means.end()) durations[i] = mean->second;
  }
  return durations;
}

Nanoseconds LaunchHistory::duration_like(const void* work, std::uint64_t signature) const {
  if (const auto known = newest_.find(signature); known != newest_.end()) return known->second;
  const auto like = by_work_.find(work);
  return like == by_work_.end() ? Nanoseconds() : like->second;
}

// What was timed ahead of the same place counts, if that launch was timed too: else its work may be missing. Work on
// another stream counts there with the next launch on that stream.
std::vector<Nanoseconds> LaunchHistory::other_times(std::uint64_t first, std::size_t period) const {
  std::vector<Nanoseconds> times(period);
  if (others_.empty()) return times;
  std::vector<Nanoseconds> ahead(steps_.size());  // of each step
  for (const Other& other : others_) {
    for (std::size_t step = other.launch - dropped_; step < steps_.size(); ++step) {
      if (steps_[step].stream != other.stream) continue;
      ahead[step] += other.duration;
      break;
    }
  }
  for (std::size_t i = 0; i < period; ++i) {
    if (first + i < dropped_) continue;
    const std::size_t own = first + i - dropped_;
    bool known = false;
    const auto take = [&](std::size_t index) {
      if (known || index >= steps_.size() || steps_[index].signature != steps_[own].signature) return;
      known = static_cast<bool>(steps_[index].duration);
      if (known) times[i] = ahead[index];
    };
    take(own);
    take(own + period);
    take(own + 2 * period);
    if (own >= period) take(own - period);
  }
  return times;
}

std::unordered_map<std::uint64_t, Nanoseconds> LaunchHistory::mean_durations() const {
  struct Sum {
    std::uint64_t time = 0, count = 0;
  };
  std::unordered_map<std::uint64_t, Sum> sums;
  for (const Step& step : steps_) {
    if (!step.duration) continue;
    Sum& sum = sums[step.signature];
    sum.time += step.duration.value();
    ++sum.count;
  }
  std::unordered_map<std::uint64_t, Nanoseconds> means;
  for (const auto& [signature, sum] : sums) means[signature] = Nanoseconds(sum.time / sum.count);
  return means;
}

// A slab keeps its address and has several lives: each fresh use begins one. The last life continues into the next
// iteration, unless that begins with a fresh use too.
void LaunchHistory::add_small_runs(std::size_t begin, Iteration& iteration) const {
  struct Slab {
    std::optional<std::uint32_t> first, last;  // life in this iteration, as number of its run
    bool goes_on = false;                      // the first life began before the iteration
    std::size_t used = 0;                      // last step that used it
    std::uint32_t lingered = 0;                // steps that the life before the first was held
  };
  std::unordered_map<std::uint64_t, Slab> slabs;  // by name
  SmallRuns& small = iteration.small;
  for (std::size_t step = begin - std::min(begin, steps_.size() - begin); step < steps_.size(); ++step) {
    for (const Mention& mention : small_of(steps_[step])) {
      const auto [known, is_new] = slabs.try_emplace(mention.run);
      Slab& slab = known->second;
      const std::uint32_t lingered = mention.fresh && !is_new ? steps_until(mention.freed, slab.used) : 0;
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
    small.runs[*slab.last].lingers = slab.goes_on ? small.runs[*slab.first].lingers : slab.lingered;
    if (slab.goes_on) same[*slab.first] = *slab.last;
  }
  for (RunUse& use : small.uses) use.run = same[use.run];
}

std::uint32_t LaunchHistory::parts_in(std::size_t begin, std::size_t end) const {
  std::uint32_t parts = 0;
  for (std::size_t step = begin; step < end; ++step) parts += steps_[step].parts;
  return parts;
}

LaunchHistory::LastUses LaunchHistory::last_uses(std::size_t begin, std::size_t end, std::uint32_t use) const {
  LastUses last;
  for (std::size_t step = begin; step < end; ++step) {
    for (const Mention& mention : parts_of(steps_[step])) last[mention.run] = {use++, step};
  }
  return last;
}

// The launches between this step and the free; 0 also where that is not known.
std::uint32_t LaunchHistory::steps_until(Epoch freed, std::size_t step) const {
  const auto behind = steps_.begin() + static_cast<std::ptrdiff_t>(step) + 1;
  const auto next =
      std::lower_bound(behind, steps_.end(), freed, [](const Step& each, Epoch epoch) { return each.epoch < epoch; });
  return static_cast<std::uint32_t>(next - behind);
}

}  // namespace tessera
