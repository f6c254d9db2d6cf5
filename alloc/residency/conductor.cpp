#include "residency/conductor.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
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

// What was noted before it rested does not go on.
void Conductor::note_shortage() {
  if (std::exchange(short_, true)) return;
  if (!log_.is_on()) {
    sequence_.interrupt();
    history_.drop_oldest(history_.size());
  }
  log_.look_from(1);
  log_.switch_on();
}

void Conductor::read(Orders& orders, Nanoseconds now) {
  if (asked_) {
    if (std::vector<Told> told = planner_->answer(); !told.empty()) {
      told_ = std::move(told);
      std::vector<Nanoseconds> times;
      for (const Told& each : told_) times.push_back(each.time);
      trial_ = Trial(times);
      adopt_now(told_[trial_.current()].strategy, orders);
    }
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
    read_launch(launch, distinct(uses), orders, now);
  }
  if (batch_.lost) lose_way();
  if (leads()) log_.call_at(until_due_[*position_]);
  times_.store(short_ && !leads() && !asked_ && (sequence_.repeats() || untimely_ < kMaxSteps),
               std::memory_order_relaxed);
  history_.read_watches();
  trim_history();
}

void Conductor::read_launch(const LaunchLog::Launch& launch, std::span<const LaunchLog::Use> uses,
                            Orders& orders, Nanoseconds now) {
  ++read_;
  const std::span<const LaunchLog::Use> parts = parts_of(uses);
  const std::uint64_t signature = signature_of(launch.work, parts, run_bytes);
  history_.remember(launch, signature, uses, parts.size());
  const SequenceLearner::Noted noted = sequence_.note(signature);
  if (noted.learned) adopt_iteration();  // first: positions are of the new iteration from now on
  if (launch.watch && !sequence_.repeats()) ++untimely_;
  if (short_ && wanted_) ++waited_;
  if (noted.position && !runs_.empty()) {
    if (*noted.position == 0) begin_pass(orders, now);
    follow(*noted.position, launch.epoch, parts, orders);
  } else {
    lose_way();
  }
}

// ---- learning -----------------------------------------------------------------------------------

// The older half goes when there are twice as many steps as an iteration may have.
void Conductor::trim_history() {
  if (history_.size() >= 2 * kMaxSteps) history_.drop_oldest(kMaxSteps);
}

// The last period() launches are the iteration.
void Conductor::adopt_iteration() {
  lose_way();
  due_.clear();
  runs_.clear();
  told_.clear();
  trial_ = {};
  wanted_ = asked_ = false;
  iteration_ = {};
  const std::size_t period = sequence_.period();
  if (period > std::min(kMaxSteps, history_.size())) return;
  iteration_ = history_.iteration(period);
  began_ = history_.next() - period;
  distances_ = next_use_distances(iteration_);
  find_runs();
  wanted_ = true;
  waited_ = look_at_ = 0;
}

// Which run plays which part at this moment; null where it has gone.
void Conductor::find_runs() {
  std::unordered_map<std::uint64_t, Run*> run_at;  // by address
  for (const auto& run : all_runs_) run_at[run->address.value()] = run.get();
  runs_.assign(iteration_.runs.size(), {});
  const std::vector<LaunchHistory::LastSeen> last = history_.last_seen(iteration_);
  for (std::size_t i = 0; i < last.size(); ++i) {
    const auto found = run_at.find(last[i].address.value());
    if (found != run_at.end()) runs_[i] = {.run = found->second, .used = last[i].epoch};
  }
}

// All, or after a whole iteration more as many as there are; the rest is taken for as long as the others are on
// average. Looked for a few times in an iteration.
bool Conductor::learns_durations() {
  if (iteration_.steps.front().duration) return true;  // for the policy before
  if (waited_ < look_at_) return false;
  const std::size_t count = iteration_.steps.size();
  look_at_ = waited_ + std::max<std::size_t>(count / kLooks, 1);
  const std::vector<Nanoseconds> durations = history_.durations(began_, count);
  std::uint64_t sum = 0, known = 0;
  for (const Nanoseconds duration : durations) {
    sum += duration.value();
    known += duration ? 1 : 0;
  }
  if (known < count && waited_ < count) return false;
  const Nanoseconds mean(known == 0 ? 1 : sum / known);
  for (std::size_t i = 0; i < count; ++i) iteration_.steps[i].duration = durations[i] ? durations[i] : mean;
  return true;
}

void Conductor::ask_for_plan(const Machine& machine) {
  wanted_ = false;
  asked_ = true;
  planner_->ask(as_it_stands(), machine);
}

void Conductor::set_policy(const Policy& policy, Planner& planner) {
  lose_way();
  due_.clear();
  told_.clear();
  trial_ = {};
  rest_ = nullptr;
  strict_ = asked_ = false;
  log_.call_at(0);
  policy_ = &policy;
  planner_ = &planner;
  if (wanted_ || iteration_.steps.empty()) return;
  wanted_ = true;
  waited_ = look_at_ = 0;
}

void Conductor::lead(Iteration iteration, const Strategy& strategy, std::span<Run* const> players,
                     Orders& orders) {
  note_shortage();
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
  const std::size_t last = iteration_.stands_at.value_or(iteration_.steps.size() - 1);
  sequence_.teach(std::move(signatures), last);
  runs_.assign(iteration_.runs.size(), {});
  distances_ = next_use_distances(iteration_);
  for (std::size_t i = 0; i < std::min(players.size(), runs_.size()); ++i) {
    if (players[i] != nullptr) runs_[i] = {.run = players[i], .used = players[i]->last_work()};
  }
  foresee(last);
  position_ = last;
  adopt_now(strategy, orders);
}

// When the runs are used next, as seen from that step.
void Conductor::foresee(std::size_t last) {
  const std::size_t count = iteration_.steps.size();
  for (std::size_t back = count; back-- > 0;) {  // of the uses of a run the newest counts
    const IterationStep& step = iteration_.steps[(last + count - back) % count];
    for (std::uint32_t use = step.first_use; use < step.end_use; ++use) {
      Run* const run = runs_[iteration_.uses[use].run].run;
      if (run != nullptr) run->next = read_ + distances_[use] - back;
    }
  }
}

void Conductor::adopt(const Strategy& strategy) {
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

void Conductor::adopt_now(const Strategy& strategy, Orders& orders) {
  adopt(strategy);
  catch_up(strategy.plan, orders);
  pass_began_.reset();
}

// The one before was gone through under one strategy from its first launch to its last, if its beginning is known.
void Conductor::begin_pass(Orders& orders, Nanoseconds now) {
  const std::optional<Nanoseconds> began = pass_began_;
  if (began && trial_.note(now - *began)) adopt_now(told_[trial_.current()].strategy, orders);
  if (!due_.empty()) pass_began_ = now;
}

// A plan is found at any step of the iteration, and what it has away at that step is still there.
void Conductor::catch_up(const AbsencePlan& plan, Orders& orders) const {
  if (!position_) return;
  const std::size_t count = iteration_.steps.size();
  for (const auto& [gap, back_at, to, part] : plan) {
    const auto since_it_left = [&, after = gap.after](std::size_t step) { return (step + count - after) % count; };
    const std::size_t now = since_it_left(*position_);
    const std::size_t back = since_it_left(back_at), until = since_it_left(gap.until);
    const bool is_away = now < (back == 0 ? (until == 0 ? count : until) : back);
    const Order& known = runs_[gap.run];
    if (is_away && !gap.dead && known.run != nullptr) orders.leave.push_back({known.run, known.used, to, part});
  }
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
  position_ = position;
  const IterationStep& step = iteration_.steps[position];
  if (uses.size() != step.end_use - step.first_use) return lose_way();  // of one hash, yet another
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    const std::uint32_t use = step.first_use + i;
    runs_[iteration_.uses[use].run] = {.run = uses[i].run, .used = epoch};
    uses[i].run->next = read_ + distances_[use];
  }
  if (due_.empty()) return;
  for (const auto& [run, to, part] : due_[position].leave) {
    if (runs_[run].run != nullptr) orders.leave.push_back({runs_[run].run, runs_[run].used, to, part});
  }
  for (const std::uint32_t run : due_[position].come) {
    if (runs_[run].run != nullptr) orders.come.push_back(runs_[run]);
  }
}

void Conductor::lose_way() {
  trial_.interrupt();
  pass_began_.reset();
  if (!position_) return;
  position_.reset();
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
