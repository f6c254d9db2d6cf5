#include "residency/conductor.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace tessera {
namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio

std::uint64_t signature_of(const void* work, const auto& uses, auto bytes_of) {
  auto hash = reinterpret_cast<std::uint64_t>(work);
  for (const auto& use : uses) {
    hash = (hash ^ bytes_of(use).value()) * kOdd;
    hash ^= hash >> 29;
  }
  return hash;
}

Bytes run_bytes(const LaunchLog::Use& use) { return use.run->shape.bytes(); }

bool is_small(const LaunchLog::Use& use) { return use.run->shape.bytes() <= kBasePage; }

// Each run once; written if one of its mentions is, and fresh likewise. First those that a plan may move,
// the parts. Their order tells which of a launch's runs is which in the next iteration. They come by
// address, which for a block that is made anew is another each time; what they are for is not, so
// that goes first.
std::span<LaunchLog::Use> distinct(std::span<LaunchLog::Use> uses) {
  std::size_t kept = 0;
  for (const LaunchLog::Use& use : uses) {
    const auto known = std::find_if(uses.begin(), uses.begin() + static_cast<std::ptrdiff_t>(kept),
                                    [&](const LaunchLog::Use& other) { return other.run == use.run; });
    if (known == uses.begin() + static_cast<std::ptrdiff_t>(kept)) {
      uses[kept++] = use;
    } else {
      known->writes |= use.writes;
      known->fresh |= use.fresh;
    }
  }
  const auto role = [](const LaunchLog::Use& use) {
    return std::tuple(is_small(use), use.run->shape.bytes(), use.run->tag, use.writes);
  };
  std::ranges::stable_sort(uses.first(kept), {}, role);
  return uses.first(kept);
}

std::span<const LaunchLog::Use> parts_of(std::span<const LaunchLog::Use> uses) {
  return {uses.begin(), std::ranges::find_if(uses, is_small)};
}

}  // namespace

void Conductor::read(Orders& orders) {
  if (asked_) {
    if (const std::optional<Strategy> found = planner_.answer()) adopt(*found);
  }
  log_.take(batch_);
  auto write = batch_.writes.begin();
  std::size_t first = 0;
  for (const LaunchLog::Launch& launch : batch_.launches) {
    const std::span<LaunchLog::Use> uses = std::span(batch_.uses).subspan(first, launch.uses);
    first += launch.uses;
    for (; write != batch_.writes.end() && write->first <= launch.epoch; ++write) {
      for (LaunchLog::Use& use : uses) use.writes |= use.run == write->second;
    }
    read_launch(launch, distinct(uses), orders);
  }
  if (batch_.lost) lose_way();
  if (leads_) log_.call_at(until_due_[position_]);
  times_.store(sequence_.repeats() && !leads_ && !asked_, std::memory_order_relaxed);
  trim_history();
}

void Conductor::read_launch(const LaunchLog::Launch& launch, std::span<const LaunchLog::Use> uses,
                            Orders& orders) {
  ++read_;
  const std::span<const LaunchLog::Use> parts = parts_of(uses);
  remember(uses, parts.size());
  const SequenceLearner::Noted noted = sequence_.note(signature_of(launch.work, parts, run_bytes));
  if (noted.learned) adopt_iteration();  // first: positions are of the new iteration from now on
  if (launch.watch) keep_watch(*launch.watch, noted.position);
  if (wanted_) ++waited_;
  if (noted.position && !due_.empty()) {
    follow(*noted.position, launch.epoch, parts, orders);
  } else {
    lose_way();
  }
}

// ---- learning -----------------------------------------------------------------------------------

void Conductor::remember(std::span<const LaunchLog::Use> uses, std::size_t parts) {
  steps_.push_back({static_cast<std::uint32_t>(mentions_.size()), static_cast<std::uint32_t>(parts),
                    static_cast<std::uint32_t>(uses.size() - parts), std::nullopt});
  for (const LaunchLog::Use& use : uses) {
    mentions_.push_back({use.run->address, use.run->shape.bytes(), use.run->tag,
                         use.run->pins.load() != 0, use.writes, use.fresh,
                         use.writes ? Nanoseconds() : use.remade_in});
  }
}

// Of an iteration that waits for its durations, or of one that may be learned soon.
void Conductor::keep_watch(Stopwatches::Watch watch, std::optional<std::size_t> position) {
  if (!wanted_) {
    steps_.back().watch = watch;
  } else if (wanted_ && position && !unread_[*position] && !iteration_.steps[*position].duration) {
    unread_[*position] = watch;
  } else {
    watches_.give_back(watch);
  }
}

// The older half goes when there are twice as many steps as an iteration may have.
void Conductor::trim_history() {
  if (steps_.size() < 2 * kMaxSteps) return;
  const std::uint32_t dropped = steps_[kMaxSteps].first;
  for (std::size_t i = 0; i < kMaxSteps; ++i) {
    if (steps_[i].watch) watches_.give_back(*steps_[i].watch);
  }
  steps_.erase(steps_.begin(), steps_.begin() + kMaxSteps);
  mentions_.erase(mentions_.begin(), mentions_.begin() + dropped);
  for (Step& step : steps_) step.first -= dropped;
}

// The last period() launches are the iteration.
void Conductor::adopt_iteration() {
  lose_way();
  due_.clear();
  wanted_ = asked_ = false;
  for (const auto& watch : unread_) {
    if (watch) watches_.give_back(*watch);
  }
  unread_.clear();  // also when the new one is too long to be planned
  const std::size_t period = sequence_.period();
  if (period > std::min(kMaxSteps, steps_.size())) return;
  iteration_ = {};
  for (Step& step : std::span(steps_).last(period)) {
    unread_.push_back(std::exchange(step.watch, std::nullopt));
  }
  build_iteration(period);
  for (Step& step : steps_) {
    if (step.watch) watches_.give_back(*std::exchange(step.watch, std::nullopt));
  }
  runs_.assign(iteration_.runs.size(), {});
  distances_ = next_use_distances(iteration_);
  wanted_ = true;
  waited_ = 0;
}

// What a block held when the iteration began was used in the one before: the run that did so there is
// the run that does so here, since both are the same iteration.
void Conductor::build_iteration(std::size_t period) {
  std::unordered_map<std::uint64_t, std::uint32_t> run_at, last_use;  // by address
  if (steps_.size() >= 2 * period) last_use = last_uses(period);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;  // a run, and a use that is its, too
  for (const Step& step : std::span(steps_).last(period)) {
    const auto first = static_cast<std::uint32_t>(iteration_.uses.size());
    for (const Mention& mention : mentioned_parts(step)) {
      const std::uint64_t address = mention.address.value();
      const auto [known, is_new] = run_at.try_emplace(address);
      if (is_new || mention.fresh) {
        known->second = static_cast<std::uint32_t>(iteration_.runs.size());
        iteration_.runs.push_back(
            {.bytes = mention.bytes, .tag = mention.tag, .pinned = mention.pinned});
        const auto before = last_use.find(address);
        if (!mention.fresh && before != last_use.end()) links.push_back({known->second, before->second});
      }
      Nanoseconds& regenerate = iteration_.runs[known->second].regenerate;
      regenerate = std::max(regenerate, mention.remade_in);
      iteration_.uses.push_back(
          {.run = known->second, .writes = mention.writes, .fresh = mention.fresh});
    }
    iteration_.steps.push_back(
        {.first_use = first, .end_use = static_cast<std::uint32_t>(iteration_.uses.size())});
  }
  add_small_runs(period);
  std::vector<std::uint32_t> same(iteration_.runs.size());  // the run that stands for each
  std::iota(same.begin(), same.end(), 0u);
  for (const auto& [run, use] : links) {
    same[run] = iteration_.uses[use].run;
    Nanoseconds& regenerate = iteration_.runs[same[run]].regenerate;
    regenerate = std::max(regenerate, iteration_.runs[run].regenerate);
  }
  for (RunUse& use : iteration_.uses) {
    // A chain ends at the run that the iteration itself allocates, or comes back to where it began.
    for (std::size_t i = 0; i < same.size() && same[use.run] != use.run; ++i) use.run = same[use.run];
  }
}

// They stay where they are, so their addresses tell them apart.
void Conductor::add_small_runs(std::size_t period) {
  std::unordered_map<std::uint64_t, std::uint32_t> run_at;
  SmallRuns& small = iteration_.small;
  for (const Step& step : std::span(steps_).last(period)) {
    for (const Mention& mention : std::span(mentions_).subspan(step.first + step.parts, step.small)) {
      const auto next = static_cast<std::uint32_t>(small.runs.size());
      const auto [known, is_new] = run_at.try_emplace(mention.address.value(), next);
      if (is_new) {
        small.runs.push_back(
            {.bytes = mention.bytes, .tag = mention.tag, .pinned = mention.pinned});
      }
      small.uses.push_back(
          {.run = known->second, .writes = mention.writes, .fresh = mention.fresh});
    }
    small.ends.push_back(static_cast<std::uint32_t>(small.uses.size()));
  }
}

// Of the period before the last: each address's last use, as an index into the uses of an iteration.
std::unordered_map<std::uint64_t, std::uint32_t> Conductor::last_uses(std::size_t period) const {
  std::unordered_map<std::uint64_t, std::uint32_t> last;
  std::uint32_t use = 0;
  for (const Step& step : std::span(steps_).subspan(steps_.size() - 2 * period, period)) {
    for (const Mention& mention : mentioned_parts(step)) {
      last[mention.address.value()] = use++;
    }
  }
  return last;
}

// All, or what a part of one more iteration could add to nearly all, or all that it could add; the rest is
// taken for as long as the others are on average.
bool Conductor::knows_durations() {
  std::uint64_t sum = 0, timed = 0;
  for (std::size_t i = 0; i < unread_.size(); ++i) {
    Nanoseconds& duration = iteration_.steps[i].duration;
    if (unread_[i]) {
      const Result<Nanoseconds> time = watches_.read(*unread_[i]);
      if (time.status().code() == Code::kNotReady) return false;
      unread_[i].reset();
      if (time.is_ok()) duration = std::max(time.value(), Nanoseconds(1));
    }
    sum += duration.value();
    timed += duration ? 1 : 0;
  }
  const std::size_t steps = iteration_.steps.size();
  if (timed < steps && waited_ < (timed * 10 < steps * 9 ? steps : steps / 8)) return false;
  for (IterationStep& step : iteration_.steps) {
    if (!step.duration) step.duration = Nanoseconds(timed == 0 ? 1 : sum / timed);
  }
  return true;
}

void Conductor::ask_for_plan(const Machine& machine) {
  wanted_ = false;
  asked_ = true;
  planner_.ask(iteration_, machine);
}

void Conductor::lead(Iteration iteration, const Strategy& strategy) {
  log_.switch_on();
  log_.take(batch_);  // what was launched before is of no iteration
  wanted_ = asked_ = false;
  iteration_ = std::move(iteration);
  std::vector<std::uint64_t> signatures;
  const auto role = [this](const RunUse& use) {
    const IterationRun& run = iteration_.runs[use.run];
    return std::tuple(run.bytes, run.tag, use.writes);
  };
  for (std::uint32_t step = 0; step < iteration_.steps.size(); ++step) {
    const IterationStep& place = iteration_.steps[step];
    std::ranges::stable_sort(iteration_.uses.begin() + place.first_use,  // as distinct() has them
                             iteration_.uses.begin() + place.end_use, {}, role);
    const auto bytes_of = [this](const RunUse& use) { return iteration_.runs[use.run].bytes; };
    signatures.push_back(signature_of(nullptr, iteration_.uses_of(step), bytes_of));
  }
  sequence_.teach(std::move(signatures));
  runs_.assign(iteration_.runs.size(), {});
  distances_ = next_use_distances(iteration_);
  adopt(strategy);
}

void Conductor::adopt(const Strategy& strategy) {
  asked_ = false;
  rest_ = strategy.rest;
  due_.assign(iteration_.steps.size(), {});
  for (const Absence& absence : strategy.plan) {
    if (absence.gap.dead) continue;  // nothing to keep: it goes when its room is needed
    due_[absence.gap.after].leave.push_back({absence.gap.run, absence.to, absence.part});
    if (absence.back_at != absence.gap.until) due_[absence.back_at].come.push_back(absence.gap.run);
  }
  note_when_due();
}

void Conductor::note_when_due() {
  const std::size_t count = due_.size();
  until_due_.assign(count, 0);
  std::uint32_t until = 0;
  for (std::size_t i = 2 * count; i-- > 0;) {  // twice: behind the last step comes the first
    until_due_[i % count] = until;
    const Due& due = due_[i % count];
    if (!due.leave.empty() || !due.come.empty()) {
      until = 1;
    } else if (until != 0) {
      ++until;
    }
  }
}

// ---- following ----------------------------------------------------------------------------------

void Conductor::follow(std::size_t position, std::uint64_t epoch,
                       std::span<const LaunchLog::Use> uses, Orders& orders) {
  leads_ = true;
  position_ = position;
  const IterationStep& step = iteration_.steps[position];
  if (uses.size() != step.end_use - step.first_use) return lose_way();  // of one hash, yet another
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    const std::uint32_t use = step.first_use + i;
    runs_[iteration_.uses[use].run] = {.run = uses[i].run, .used = epoch};
    uses[i].run->next = read_ + distances_[use];
  }
  for (const auto& [run, to, part] : due_[position].leave) {
    if (runs_[run].run != nullptr) orders.leave.push_back({runs_[run].run, runs_[run].used, to, part});
  }
  for (const std::uint32_t run : due_[position].come) {
    if (runs_[run].run != nullptr) orders.come.push_back(runs_[run]);
  }
}

void Conductor::lose_way() {
  if (!leads_) return;
  leads_ = false;
  for (const Order& known : runs_) {
    if (known.run != nullptr) known.run->next = 0;
  }
}

// REQUIRES (of the caller): what was noted of the run has been read.
void Conductor::forget(const Run& run) {
  for (Order& known : runs_) {
    if (known.run == &run) known.run = nullptr;
  }
}

}  // namespace tessera
