#include "residency/conductor.hpp"

#include <algorithm>
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
    if (const std::optional<Strategy> found = planner_->answer()) adopt(*found);
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
  history_.remember(launch.epoch, uses, parts.size());
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

// Of an iteration that waits for its durations, or of one that may be learned soon.
void Conductor::keep_watch(Stopwatches::Watch watch, std::optional<std::size_t> position) {
  if (!wanted_) {
    history_.steps().back().watch = watch;
  } else if (wanted_ && position && !unread_[*position] && !iteration_.steps[*position].duration) {
    unread_[*position] = watch;
  } else {
    watches_.give_back(watch);
  }
}

// The older half goes when there are twice as many steps as an iteration may have.
void Conductor::trim_history() {
  const std::span<LaunchHistory::Step> steps = history_.steps();
  if (steps.size() < 2 * kMaxSteps) return;
  for (const LaunchHistory::Step& step : steps.first(kMaxSteps)) {
    if (step.watch) watches_.give_back(*step.watch);
  }
  history_.drop_oldest(kMaxSteps);
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
  iteration_ = {};
  runs_.clear();
  const std::size_t period = sequence_.period();
  const std::span<LaunchHistory::Step> steps = history_.steps();
  if (period > std::min(kMaxSteps, steps.size())) return;
  for (LaunchHistory::Step& step : steps.last(period)) {
    unread_.push_back(std::exchange(step.watch, std::nullopt));
  }
  iteration_ = history_.iteration(period);
  for (LaunchHistory::Step& step : steps) {
    if (step.watch) watches_.give_back(*std::exchange(step.watch, std::nullopt));
  }
  runs_.assign(iteration_.runs.size(), {});
  distances_ = next_use_distances(iteration_);
  wanted_ = true;
  waited_ = 0;
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
  planner_->ask(iteration_, machine);
}

void Conductor::set_policy(const Policy& policy, Planner& planner) {
  lose_way();
  due_.clear();
  rest_ = nullptr;
  strict_ = asked_ = false;
  log_.call_at(0);
  policy_ = &policy;
  planner_ = &planner;
  if (wanted_ || iteration_.steps.empty()) return;
  unread_.assign(iteration_.steps.size(), std::nullopt);
  wanted_ = true;
  waited_ = 0;
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
  strict_ = strategy.strict;
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
