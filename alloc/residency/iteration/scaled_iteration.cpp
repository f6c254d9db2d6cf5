#include "residency/iteration/scaled_iteration.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "residency/iteration/recorded_iteration.hpp"
#include "residency/pages/row.hpp"

namespace tessera {
namespace {

std::uint64_t kind_of(std::span<const LaunchLog::Use> parts) {
  const auto count = [parts](bool LaunchLog::Use::*what) {
    return static_cast<std::uint64_t>(std::ranges::count(parts, true, what));
  };
  return mix_into_context(mix_into_context(parts.size(), count(&LaunchLog::Use::writes)),
                          count(&LaunchLog::Use::fresh));
}

bool repeats_exactly(const LaunchRecord& record, std::size_t period) {
  const std::span<const RecordedLaunch> last = std::span(record.launches).last(2 * period);
  return std::ranges::equal(last.first(period), last.last(period), {}, &RecordedLaunch::signature,
                            &RecordedLaunch::signature);
}

// Where a pass ends, within the last two passes of the record: where the least bytes of runs are live that launches
// have allocated. Moments near either end of the record are left out: uses ahead of or behind them are not known.
std::size_t end_of_pass(const LaunchRecord& record, std::size_t period) {
  struct Life {
    std::size_t first = 0, last = 0;
    Bytes bytes;
  };
  const std::size_t from = record.launches.size() - 2 * period;
  std::unordered_map<std::uint64_t, Life> lives;  // by name
  std::vector<std::int64_t> change(2 * period + 1);
  const auto end = [&](const Life& life) {
    change[life.first + 1] += static_cast<std::int64_t>(life.bytes.value());
    change[life.last + 1] -= static_cast<std::int64_t>(life.bytes.value());
  };
  for (std::size_t i = 0; i < 2 * period; ++i) {
    for (const RecordedUse& use : record.parts_of(record.launches[from + i])) {
      const auto known = lives.find(use.run);
      if (use.fresh) {
        if (known != lives.end()) end(known->second);
        lives[use.run] = {i, i, use.bytes};
      } else if (known != lives.end()) {
        known->second.last = i;
      }
    }
  }
  for (const auto& [name, life] : lives) end(life);
  std::int64_t live = 0;
  std::optional<std::int64_t> least;
  std::size_t best = 0;
  for (std::size_t i = 0; i <= period + period / 2; ++i) {
    live += change[i];
    if (i <= period / 2 || (least && live > *least)) continue;
    least = live;
    best = i;
  }
  return from + best + (best <= period ? period : 0);
}

// Runs that a pass does not allocate are the same in each: the rounds of a loop over layers are no passes.
bool uses_same_memory(const LaunchRecord& record, std::size_t begin, std::size_t period) {
  std::unordered_set<std::uint64_t> known;
  const auto meet = [&](std::size_t from, std::size_t to) {
    bool is_known = true;
    for (std::size_t i = from; i < to; ++i) {
      for (const RecordedUse& use : record.parts_of(record.launches[i])) {
        is_known = (!known.insert(use.run).second || use.fresh) && is_known;
      }
    }
    return is_known;
  };
  const std::size_t size = record.launches.size();
  meet(size - 2 * period, begin);
  meet(begin + period, size);
  return meet(begin, begin + period);
}

// The launches from `begin` to `end` alone.
LaunchRecord cut_out(const LaunchRecord& record, std::size_t begin, std::size_t end) {
  LaunchRecord part;
  for (std::size_t i = begin; i < end; ++i) {
    RecordedLaunch launch = record.launches[i];
    const std::span<const RecordedUse> uses = record.uses_of(launch);
    launch.first = static_cast<std::uint32_t>(part.uses.size());
    launch.watch.reset();  // is the record's
    part.launches.push_back(launch);
    part.uses.insert(part.uses.end(), uses.begin(), uses.end());
  }
  part.freed_at = record.freed_at;
  return part;
}

std::vector<std::uint32_t> steps_until(std::size_t end) {
  std::vector<std::uint32_t> steps(end);
  std::iota(steps.begin(), steps.end(), 0u);
  return steps;
}

}  // namespace

void ScaledIteration::note(const LaunchLog::Launch& launch, std::span<const LaunchLog::Use> parts,
                           const LaunchHistory& history, const RunList& all_runs) {
  const std::uint64_t kind = kind_of(parts);
  finder_.note(kind, 0);
  const bool was_in_sync = in_sync();
  if (iteration_ != nullptr) follow(launch, kind, parts, history);
  const std::size_t period = finder_.period();
  if (period < kLeast || finder_.agreed() < period || finder_.agreed() % period != 0) return;
  const bool is_followed = (was_in_sync || in_sync()) && iteration_->kept() >= period;
  if (!is_followed && 2 * period <= history.size()) learn(history, all_runs);
}

void ScaledIteration::follow(const LaunchLog::Launch& launch, std::uint64_t kind, std::span<const LaunchLog::Use> parts,
                             const LaunchHistory& history) {
  in_order_.clear();
  uses_.clear();
  for (const LaunchLog::Use& use : parts) {
    uses_.push_back({use.run->name, use.run->shape.bytes(), use.writes, use.fresh});
  }
  roles_->look_at(uses_);
  const std::optional<std::size_t> before = iteration_->place();
  if (!goes_on(kind)) {
    begin_anew();
    find(kind);
    if (before && !iteration_->in_sync()) iteration_->end_predictions();
    if (!iteration_->in_sync()) return;
  }
  const auto step = static_cast<std::uint32_t>(*iteration_->place());
  if (before ? step < *before : step == 0) end_pass(history);
  if (began_) steps_.push_back(step);
  if (!near_->is_step()) return;
  const auto at = static_cast<std::uint32_t>(near_->place());
  for (const std::uint32_t i : roles_->match(iteration_->iteration(), at)) {
    in_order_.push_back(i == RunRoles::kNone ? LaunchLog::Use() : parts[i]);
  }
  iteration_->take(at, launch.epoch, in_order_);
  if (at != step) in_order_.clear();
  const std::optional<std::uint32_t> teller = passes_->teller();
  if (!scale_ && teller && began_ && roles_->seen()[*teller]) scale_ = roles_->bytes()[*teller];
}

// Whether the launch is in the pass. Where the position turns out to be too far on, it stays until the launches are
// there.
bool ScaledIteration::goes_on(std::uint64_t kind) {
  if (!iteration_->in_sync()) return false;
  near_->note([&](std::size_t step) { return cost_of(kind, step); }, roles_->tells_step() ? kToldOther : kOther);
  if (near_->is_lost()) return false;
  const std::size_t count = iteration_->iteration().steps.size();
  const std::size_t steps = (near_->place() + count - *iteration_->place()) % count;
  iteration_->move_on(steps <= count / 2 ? steps : 0);
  return true;
}

// How unlike the step a launch is. A launch that uses the memory of a step that lives on is the step, even if a kernel
// for this size uses other memory beside it. Without such memory, which layers do not have in common, the kind decides.
NearPlace::Cost ScaledIteration::cost_of(std::uint64_t kind, std::size_t step) const {
  const RunRoles::Fit fit = roles_->fit(static_cast<std::uint32_t>(step));
  if (fit == RunRoles::Fit::kNo) return NearPlace::kNever;
  const bool is_of_kind = iteration_->signature_of(step) == kind;
  if (fit == RunRoles::Fit::kYes) return is_of_kind ? 0 : kNearly;
  if (!is_of_kind) return NearPlace::kNever;
  return fit == RunRoles::Fit::kUntold ? 0 : kNearly;
}

// Layers are alike, so where steps can be told by their memory, they have to be.
void ScaledIteration::find(std::uint64_t kind) {
  iteration_->find(finder_.context(), [&](std::size_t step) {
    const RunRoles::Fit fit = roles_->fit(static_cast<std::uint32_t>(step));
    return fit == RunRoles::Fit::kYes || (!roles_->can_tell() && iteration_->signature_of(step) == kind);
  });
  if (iteration_->in_sync()) near_.emplace(iteration_->iteration().steps.size(), *iteration_->place());
}

// Launches were left out of this pass.
void ScaledIteration::begin_anew() {
  began_.reset();
  steps_.clear();
  scale_.reset();
  looked_ = false;
}

void ScaledIteration::end_pass(const LaunchHistory& history) {
  if (began_) {
    if (looked_) note_error();
    record_pass(history);
    ended_ = {*began_, std::move(steps_), roles_->bytes(), roles_->seen()};
  }
  begin_anew();
  began_ = history.next() - 1;
  roles_->begin_pass();
}

// How far the sizes of this pass are from those that were expected, of runs whose sizes vary.
void ScaledIteration::note_error() {
  const std::vector<IterationRun>& expected = iteration_->iteration().runs;
  Bytes all, off;
  for (std::uint32_t run = 0; run < expected.size(); ++run) {
    if (!passes_->varies(run) || !roles_->seen()[run]) continue;
    const auto [least, most] = std::minmax(expected[run].bytes, roles_->bytes()[run]);
    all += roles_->bytes()[run];
    off += most - least;
  }
  if (!all) return;
  const double error = static_cast<double>(off.value()) / static_cast<double>(all.value());
  error_ += (error - error_) / kErrorPasses;
}

// What is not known of its sizes and times is that of other passes. A launch that is none of the steps counts with the
// step ahead of it.
void ScaledIteration::record_pass(const LaunchHistory& history) {
  if (!ended_) return;
  const Ended ended = *std::exchange(ended_, std::nullopt);
  const std::size_t count = iteration_->iteration().steps.size();
  ScaledPass pass{ended.bytes, std::vector<Nanoseconds>(count), std::vector<Nanoseconds>(count)};
  const std::vector<Nanoseconds> durations = history.durations(ended.began, ended.steps.size());
  const std::vector<Nanoseconds> before = history.other_times(ended.began, ended.steps.size());
  for (std::size_t i = 0; i < ended.steps.size(); ++i) {
    pass.durations[ended.steps[i]] += durations[i];
    pass.before[ended.steps[i]] += before[i];
  }
  std::uint64_t sum = 0, known = 0;
  for (const Nanoseconds time : pass.durations) {
    sum += time.value();
    known += time ? 1 : 0;
  }
  const std::optional<std::uint32_t> teller = passes_->teller();
  const std::optional<ScaledPass> others = teller ? std::optional(passes_->at(pass.bytes[*teller])) : std::nullopt;
  Bytes all, unseen;
  for (std::size_t run = 0; run < pass.bytes.size(); ++run) {
    all += pass.bytes[run];
    if (ended.seen[run]) continue;
    if (others) pass.bytes[run] = others->bytes[run];
    unseen += pass.bytes[run];
  }
  if (static_cast<double>(unseen.value()) > kMostUnseen * static_cast<double>(all.value())) return;
  const Nanoseconds mean(known == 0 ? 1 : sum / known);
  for (std::size_t i = 0; i < count; ++i) {
    if (!pass.durations[i]) pass.durations[i] = others ? others->durations[i] : mean;
  }
  passes_->add(std::move(pass));
}

void ScaledIteration::learn(const LaunchHistory& history, const RunList& all_runs) {
  const LaunchRecord& record = history.record();
  const std::size_t period = finder_.period(), size = record.launches.size();
  if (repeats_exactly(record, period)) return;
  const std::size_t end = end_of_pass(record, period), begin = end - period;
  if (!uses_same_memory(record, begin, period)) return;
  const LaunchRecord pass = cut_out(record, begin, end);
  Iteration iteration = iteration_of(pass, period, 0);
  if (iteration.uses.empty()) return;
  std::vector<std::uint64_t> kinds = finder_.last(period + size - end);
  kinds.resize(period);
  const std::unordered_map<std::uint64_t, Run*> run_of = by_name(all_runs);
  error_ = kErrorAtFirst;
  away_.clear();
  roles_.emplace(iteration);
  passes_.emplace(iteration);
  std::vector<LearnedIteration::Order> runs(iteration.runs.size());
  const auto meet = [&](const RecordedLaunch& launch, const LaunchRecord& of, std::uint32_t step) {
    if (launch.parts != iteration.uses_of(step).size()) return false;  // its blocks have moved to shared runs since
    uses_.clear();
    for (const RecordedUse& use : of.parts_of(launch)) uses_.push_back({use.run, use.bytes, use.writes, use.fresh});
    roles_->look_at(uses_);
    const std::span<const std::uint32_t> order = roles_->match(iteration, step);
    for (std::size_t slot = 0; slot < order.size(); ++slot) {
      if (order[slot] == RunRoles::kNone) continue;
      const auto found = run_of.find(uses_[order[slot]].run);
      if (found == run_of.end()) continue;
      runs[iteration.uses_of(step)[slot].run] = {.run = found->second, .used = launch.epoch};
    }
    return true;
  };
  for (std::size_t i = 0; i < period; ++i) meet(pass.launches[i], pass, static_cast<std::uint32_t>(i));
  ended_ = {history.next() - (size - begin), steps_until(period), roles_->bytes(), roles_->seen()};
  roles_->begin_pass();
  for (std::size_t i = end; i < size; ++i) {
    if (!meet(record.launches[i], record, static_cast<std::uint32_t>(i - end))) return iteration_.reset();
  }
  const std::size_t place = (size - end + period - 1) % period;
  iteration_ = std::make_unique<LearnedIteration>(std::move(iteration), std::move(kinds), std::move(runs), place);
  near_.emplace(period, place);
  begin_anew();
  if (size == end) return;
  began_ = history.next() - (size - end);
  steps_ = steps_until(size - end);
}

void ScaledIteration::make_plan(const Policy& policy, const Machine& machine, const LaunchHistory& history) {
  const std::optional<std::uint32_t> told_by = passes_->teller();
  record_pass(history);
  if (passes_->teller() != told_by) {  // the next run that tells the scale may have been used already
    scale_.reset();
    return iteration_->drop_strategies();
  }
  looked_ = true;
  iteration_->resize(passes_->at(*scale_));
  if (error_ > kMostError) return iteration_->drop_strategies();
  std::optional<Strategy> strategy = policy.quick_strategy(iteration_->iteration(), machine);
  if (!strategy) return iteration_->drop_strategies();
  iteration_->set_sure(away_in_all(strategy->plan));
  iteration_->set_candidates({{std::move(*strategy), {}}}, machine);
}

// The bytes that the plans of this pass and of the last ones have away when a pass begins.
Bytes ScaledIteration::away_in_all(const OffloadPlan& plan) {
  Bytes away;
  for (const OffloadInterval& interval : plan) {
    const Bytes bytes = iteration_->iteration().runs[interval.gap.run].bytes;
    if (interval.gap.wraps && !interval.gap.dead) away += std::min(interval.part, bytes);
  }
  away_.push_back(away);
  if (away_.size() > kAwayPasses) away_.erase(away_.begin());
  return away_.size() < kAwayPasses ? Bytes() : *std::ranges::min_element(away_);
}

void ScaledIteration::drop_plan() {
  if (iteration_ != nullptr) iteration_->drop_strategies();
}

void ScaledIteration::interrupt() {
  if (finder_.size() == 0) return;
  finder_.interrupt();
  if (iteration_ != nullptr) iteration_->lose_sync();
  begin_anew();
  ended_.reset();
}

void ScaledIteration::clear() {
  interrupt();
  iteration_.reset();
}

void ScaledIteration::forget(const Run& run) {
  if (iteration_ == nullptr) return;
  iteration_->forget(run);
  roles_->forget(run.name);
}

}  // namespace tessera
