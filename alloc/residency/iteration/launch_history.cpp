#include "residency/iteration/launch_history.hpp"

#include <algorithm>

#include "residency/iteration/shared_run_rewrite.hpp"

namespace tessera {

void LaunchHistory::remember(const LaunchLog::Launch& launch, std::uint64_t signature,
                             std::span<const LaunchLog::Use> uses, std::size_t parts, Nanoseconds now) {
  record_.launches.push_back({.work = launch.work,
                              .epoch = launch.epoch,
                              .number = launch.number,
                              .signature = signature,
                              .first = static_cast<std::uint32_t>(record_.uses.size()),
                              .parts = static_cast<std::uint32_t>(parts),
                              .small = static_cast<std::uint32_t>(uses.size() - parts),
                              .stream = launch.stream,
                              .read_at = now,
                              .watch = launch.watch});
  for (const LaunchLog::Use& use : uses) {
    record_.uses.push_back({use.run->name, use.run->shape.bytes(), use.run->tag, use.run->is_pinned(), use.writes,
                            use.fresh, use.writes ? Nanoseconds() : use.recomputed_in, use.freed_at});
    if (!use.fresh) continue;
    // A new run of that name does not know when the last block of the one before it was freed.
    const auto before = record_.freed_at.extract(use.run->name);
    if (before && use.freed_at == 0) record_.uses.back().freed_at = before.mapped();
  }
}

std::vector<std::uint64_t> LaunchHistory::last_signatures(std::size_t launches) const {
  std::vector<std::uint64_t> signatures;
  for (const RecordedLaunch& step : std::span(record_.launches).last(std::min(launches, record_.launches.size())))
    signatures.push_back(step.signature);
  return signatures;
}

void LaunchHistory::rewrite(std::span<const MovedBlock> moved) {
  rewrite_as_shared(record_, moved);
  for (const MovedBlock& block : moved) {
    std::uint64_t& freed_at = record_.freed_at[block.to];
    freed_at = std::max(freed_at, record_.last_before(block.freed));
  }
}

void LaunchHistory::remember_other(const LaunchLog::OtherWork& other) {
  if (others_.size() >= 2 * kMostSteps) return watches_.give_back(other.watch);
  others_.push_back({.launch = next(), .stream = other.stream, .watch = other.watch});
}

// What was not used since the first launch is not in the record.
void LaunchHistory::note_freed(const Run& run) {
  if (record_.launches.empty() || run.used.load() < record_.launches.front().epoch) return;
  if (const std::uint64_t freed_at = run.whole().freed_at.load()) record_.freed_at[run.name] = freed_at;
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
  for (; unread_ < record_.launches.size(); ++unread_) {
    RecordedLaunch& step = record_.launches[unread_];
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
  for (const RecordedLaunch& step : std::span(record_.launches).first(steps)) {
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
      steps < record_.launches.size() ? record_.launches[steps].first : static_cast<std::uint32_t>(record_.uses.size());
  record_.launches.erase(record_.launches.begin(), record_.launches.begin() + static_cast<std::ptrdiff_t>(steps));
  record_.uses.erase(record_.uses.begin(), record_.uses.begin() + dropped);
  for (RecordedLaunch& step : record_.launches) step.first -= dropped;
  if (record_.launches.empty()) return record_.freed_at.clear();
  const std::uint64_t first_kept = record_.launches.front().number;
  std::erase_if(record_.freed_at, [first_kept](const auto& each) { return each.second < first_kept; });
}

void LaunchHistory::trim(std::uint64_t needed) {
  if (record_.uses.size() > kMostUses || size() >= 2 * kMostSteps) return drop_oldest((size() + 1) / 2);
  if (size() < kMostSteps || needed == dropped_) return;
  const std::uint64_t idle = needed < dropped_ ? size() : needed - dropped_;
  drop_oldest(std::min<std::uint64_t>(kMostSteps / 2, idle));
}

// From the launch before the first to the last.
Nanoseconds LaunchHistory::took(std::size_t period) const {
  const std::size_t before = record_.launches.size() - std::min(period + 1, record_.launches.size());
  return record_.launches.back().read_at - record_.launches[before].read_at;
}

std::vector<Nanoseconds> LaunchHistory::durations(std::uint64_t first, std::size_t period) const {
  const std::unordered_map<std::uint64_t, Nanoseconds> means = mean_durations();
  std::vector<Nanoseconds> durations(period);
  for (std::size_t i = 0; i < period; ++i) {
    if (first + i < dropped_) continue;
    const std::size_t own = first + i - dropped_;
    const std::uint64_t signature = record_.launches[own].signature;
    const auto take = [&](std::size_t index) {
      if (!durations[i] && index < record_.launches.size() && record_.launches[index].signature == signature) {
        durations[i] = record_.launches[index].duration;
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
  std::vector<Nanoseconds> ahead(record_.launches.size());  // of each step
  for (const Other& other : others_) {
    for (std::size_t step = other.launch - dropped_; step < record_.launches.size(); ++step) {
      if (record_.launches[step].stream != other.stream) continue;
      ahead[step] += other.duration;
      break;
    }
  }
  for (std::size_t i = 0; i < period; ++i) {
    if (first + i < dropped_) continue;
    const std::size_t own = first + i - dropped_;
    bool known = false;
    const auto take = [&](std::size_t index) {
      if (known || index >= record_.launches.size() ||
          record_.launches[index].signature != record_.launches[own].signature)
        return;
      known = static_cast<bool>(record_.launches[index].duration);
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
  for (const RecordedLaunch& step : record_.launches) {
    if (!step.duration) continue;
    Sum& sum = sums[step.signature];
    sum.time += step.duration.value();
    ++sum.count;
  }
  std::unordered_map<std::uint64_t, Nanoseconds> means;
  for (const auto& [signature, sum] : sums) means[signature] = Nanoseconds(sum.time / sum.count);
  return means;
}

}  // namespace tessera
