#include "residency/iteration/learned_iteration.hpp"

#include <utility>

#include "planning/late_intervals.hpp"

namespace tessera {
namespace {

// Whether a launch that used the run in that epoch says that kernels are given its address. That it does not is known
// of a copy, and of others that were the last of their kind when the launch is read.
bool shows_uses(const LaunchLog::Use& use, Epoch epoch) {
  return !use.copies && use.run->named.other() != epoch && use.run->whole().named.other() != epoch;
}

}  // namespace

LearnedIteration::LearnedIteration(Iteration iteration, std::vector<std::uint64_t> signatures, std::vector<Order> runs,
                                   std::size_t place)
    : iteration_(std::move(iteration)),
      place_(std::move(signatures), place),
      runs_(std::move(runs)),
      distances_(next_use_distances(iteration_)) {
  sum_runs();
  for (const Order& player : runs_) named_.push_back(player.run != nullptr && player.run->is_named());
}

void LearnedIteration::sum_runs() {
  run_bytes_ = Bytes();
  for (const IterationRun& run : iteration_.runs) run_bytes_ += run.bytes;
}

void LearnedIteration::set_durations(std::span<const Nanoseconds> durations, std::span<const Nanoseconds> before) {
  for (std::size_t i = 0; i < durations.size(); ++i) {
    iteration_.steps[i].duration = durations[i];
    iteration_.steps[i].before = before[i];
  }
}

void LearnedIteration::resize(const ScaledPass& pass) {
  for (std::size_t i = 0; i < pass.bytes.size(); ++i) iteration_.runs[i].bytes = pass.bytes[i];
  sum_runs();
  set_durations(pass.durations, pass.before);
}

void LearnedIteration::set_sure(Bytes bytes) { sure_ = bytes; }

// ---- position -----------------------------------------------------------------------------------

void LearnedIteration::note(std::uint64_t signature, std::optional<std::uint64_t> context, Epoch epoch,
                            std::span<const LaunchLog::Use> uses) {
  const std::optional<std::size_t> before = place();
  place_.note(signature, context);
  if (!in_sync()) return lose_sync();
  if (!same_memory(*place(), uses)) {
    place_.move_to_like([&](std::size_t other) { return same_memory(other, uses).value_or(0) != 0; });
  }
  const IterationStep& step = iteration_.steps[*place()];
  if (uses.size() != step.end_use - step.first_use) return lose_sync();  // another launch with the same hash
  kept_ = before && *place() == (*before + 1) % iteration_.steps.size() ? kept_ + 1 : 0;
  moved_ = 1;
  take(*place(), epoch, uses);
}

void LearnedIteration::move_on(std::size_t steps) {
  place_.move_on(steps);
  moved_ = steps;
  if (steps != 0) ++kept_;
}

void LearnedIteration::take(std::size_t step, Epoch epoch, std::span<const LaunchLog::Use> uses) {
  const std::uint32_t first = iteration_.steps[step].first_use;
  last_known_ = epoch;
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    if (uses[i].run == nullptr) continue;
    const std::uint32_t role = iteration_.uses[first + i].run;
    runs_[role] = {.run = uses[i].run, .used = epoch};
    named_[role] = named_[role] || shows_uses(uses[i], epoch);
  }
}

// How many of a launch's runs are those that had these roles last. Nothing where another run has one of them: the
// program may be in another round of a loop. A run that is allocated anew each time says nothing.
std::optional<std::uint32_t> LearnedIteration::same_memory(std::size_t place,
                                                           std::span<const LaunchLog::Use> uses) const {
  const IterationStep& step = iteration_.steps[place];
  if (uses.size() != step.end_use - step.first_use) return std::nullopt;
  std::uint32_t same = 0;
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    const RunUse& use = iteration_.uses[step.first_use + i];
    if (use.fresh) continue;
    if (runs_[use.run].run != uses[i].run) return std::nullopt;
    ++same;
  }
  return same;
}

void LearnedIteration::lose_sync() {
  place_.lose();
  kept_ = 0;
  deactivate();
}

void LearnedIteration::foresee(const RunUse& use, const Order& player, std::uint64_t next) const {
  player.run->uses.next = next;
  player.run->uses.foreseen = player.used;
  player.run->uses.named = named_[use.run];
}

void LearnedIteration::predict(std::span<const LaunchLog::Use> uses, std::uint64_t launches, Epoch epoch) const {
  const std::uint32_t first = iteration_.steps[*place()].first_use;
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    if (uses[i].run == nullptr) continue;
    foresee(iteration_.uses[first + i], {.run = uses[i].run, .used = epoch}, launches + distances_[first + i]);
  }
}

void LearnedIteration::foresee(std::uint64_t launches) const {
  const std::size_t count = iteration_.steps.size();
  for (std::size_t back = count; back-- > 0;) {  // the newest use of a run counts
    const IterationStep& step = iteration_.steps[(*place() + count - back) % count];
    for (std::uint32_t use = step.first_use; use < step.end_use; ++use) {
      const Order& player = runs_[iteration_.uses[use].run];
      if (player.run != nullptr) foresee(iteration_.uses[use], player, launches + distances_[use] - back);
    }
  }
}

void LearnedIteration::end_predictions() const {
  for (const Order& known : runs_) {
    if (known.run != nullptr) known.run->uses.next = 0;
  }
}

void LearnedIteration::forget(const Run& run) {
  for (Order& known : runs_) {
    if (known.run == &run) known.run = nullptr;
  }
}

// ---- strategy -----------------------------------------------------------------------------------

void LearnedIteration::set_candidates(std::vector<Candidate> candidates, const Machine& machine) {
  candidates_ = std::move(candidates);
  machine_ = machine;
  std::vector<Nanoseconds> times;
  for (const Candidate& each : candidates_) times.push_back(each.time);
  bandit_ = PlanBandit(times);
  adopt();
}

void LearnedIteration::set_baseline(Nanoseconds rival) {
  bandit_.set_baseline(rival);
  note_when_due();
}

void LearnedIteration::drop_strategies() {
  candidates_.clear();
  bandit_ = {};
  due_.clear();
  pass_began_.reset();
}

void LearnedIteration::adopt() {
  pass_began_.reset();
  due_.assign(iteration_.steps.size(), {});
  Bytes sure = sure_;
  for (const OffloadInterval& interval : current().plan) {
    if (interval.gap.dead) continue;  // nothing to keep: freed when its room is needed
    const Bytes part = std::min(interval.part, iteration_.runs[interval.gap.run].bytes);
    const bool is_sure = !interval.gap.wraps || part <= sure;
    if (interval.gap.wraps && is_sure && sure != kWholeRun) sure -= part;
    if (is_sure) due_[interval.gap.after].evict.push_back({interval.gap.run, interval.to, interval.part});
    if (interval.back_at != interval.gap.until) due_[interval.back_at].fetch.push_back(interval.gap.run);
  }
  note_when_due();
}

// The iteration before was run under one strategy from its first launch to its last, if its beginning is known.
void LearnedIteration::collect_due(Orders& orders, Nanoseconds now, bool takes_over) {
  bool is_new = takes_over;
  const std::size_t position = *place(), count = iteration_.steps.size();
  if (position < moved_) {
    const std::optional<Nanoseconds> began = pass_began_;
    if (began && bandit_.note(now - *began)) {
      adopt();
      is_new = true;
    }
    pass_began_ = now;
  }
  if (is_new) catch_up(orders);
  for (std::size_t back = moved_; back-- > 0;) {
    const Due& due = due_[(position + count - back) % count];
    for (const auto& [run, to, part] : due.evict) {
      if (!is_new && runs_[run].run != nullptr) orders.evict.push_back({runs_[run].run, runs_[run].used, to, part});
    }
    for (const std::uint32_t run : due.fetch) {
      if (runs_[run].run != nullptr) orders.fetch.push_back(runs_[run]);
    }
  }
}

void LearnedIteration::catch_up(Orders& orders) const {
  if (!in_sync()) return;
  const auto step = static_cast<std::uint32_t>(*place());
  for (const auto& [gap, back_at, to, part] : late_intervals(iteration_, machine_, current().plan, step)) {
    const Order& known = runs_[gap.run];
    if (known.run != nullptr) orders.evict.push_back({known.run, known.used, to, part});
  }
}

void LearnedIteration::deactivate() {
  bandit_.interrupt();
  pass_began_.reset();
}

// The beginning of an iteration is due too while its duration has to be measured.
void LearnedIteration::note_when_due() {
  const std::size_t count = due_.size();
  until_due_.assign(count, 0);
  std::uint32_t until = 0;
  for (std::size_t i = 2 * count; i-- > 0;) {  // twice: the last step is followed by the first
    until_due_[i % count] = until;
    const Due& due = due_[i % count];
    const bool is_begin = i % count == 0 && !bandit_.is_idle();
    if (is_begin || !due.evict.empty() || !due.fetch.empty()) {
      until = 1;
    } else if (until != 0) {
      ++until;
    }
  }
}

}  // namespace tessera
