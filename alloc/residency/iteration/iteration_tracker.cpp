#include "residency/iteration/iteration_tracker.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/decayed_count.hpp"
#include "residency/iteration/launch_signature.hpp"
#include "residency/iteration/recorded_iteration.hpp"
#include "residency/iteration/residency_snapshot.hpp"
#include "residency/pages/row.hpp"

namespace tessera {
namespace {

Bytes run_bytes(const LaunchLog::Use& use) { return use.run->shape.bytes(); }

bool is_small(const LaunchLog::Use& use) { return use.run->shape.bytes() <= kBasePage; }

// The mention of the run among these, if there is one. Run::mention is only a hint; the entry there confirms it.
LaunchLog::Use* mention_of(const Run& run, std::span<LaunchLog::Use> uses) {
  return run.uses.mention < uses.size() && uses[run.uses.mention].run == &run ? &uses[run.uses.mention] : nullptr;
}

// Merges mentions of the same run: written if one of them writes, fresh if one of them is.
std::span<LaunchLog::Use> distinct(std::span<LaunchLog::Use> uses) {
  std::size_t kept = 0;
  for (const LaunchLog::Use& use : uses) {
    if (LaunchLog::Use* const known = mention_of(*use.run, uses.first(kept))) {
      known->writes |= use.writes;
      known->fresh |= use.fresh;
    } else {
      use.run->uses.mention = kept;
      uses[kept++] = use;
    }
  }
  return uses.first(kept);
}

// Parts, which a plan may move, first. Most launches name them so, and a stable sort allocates.
void sort_parts_first(std::span<LaunchLog::Use> uses) {
  const auto role = [](const LaunchLog::Use& use) {
    return role_of(use.run->shape.bytes(), use.run->tag, use.writes, use.run->name);
  };
  if (!std::ranges::is_sorted(uses, {}, role)) std::ranges::stable_sort(uses, {}, role);
}

std::span<const LaunchLog::Use> parts_of(std::span<const LaunchLog::Use> uses) {
  return {uses.begin(), std::ranges::find_if(uses, is_small)};
}

void count_use(Run& run, Epoch epoch) {
  run.uses.often = decayed(run.uses.often, run.uses.counted.value(), epoch.value()) + kOneEvent;
  run.uses.counted = epoch;
}

}  // namespace

// What was logged before logging stopped has a gap after it. No launch was timed until then either, so an
// iteration learned by then is learned again.
void IterationTracker::note_shortage() {
  if (short_.exchange(true)) return;
  if (!log_.is_on()) {
    lose_sync();
    log_.take(batch_);
    finder_.interrupt();
    history_.drop_oldest(history_.size());
    known_.clear();
    scaled_.clear();
    newest_.clear();
  }
  log_.look_from(1);
  log_.switch_on();
}

void IterationTracker::note_moved(std::span<const MovedBlock> moved) {
  history_.rewrite(moved);
  finder_.rewrite(history_.last_signatures(finder_.size()));
}

void IterationTracker::read(Orders& orders, Nanoseconds now) {
  if (newest_.is_asked()) take_answer(orders);
  log_.take(batch_);
  rules_.expect(batch_.uses);
  auto write = batch_.writes.begin();
  auto other = batch_.others.begin();
  std::size_t first = 0, read = 0;
  for (const LaunchLog::Launch& launch : batch_.launches) {
    for (; other != batch_.others.end() && other->before <= read; ++other) history_.remember_other(*other);
    ++read;
    const std::span<LaunchLog::Use> uses = distinct(std::span(batch_.uses).subspan(first, launch.uses));
    first += launch.uses;
    for (; write != batch_.writes.end() && write->first <= launch.epoch; ++write) {
      if (LaunchLog::Use* const use = mention_of(*write->second, uses)) use->writes = true;
    }
    sort_parts_first(uses);
    read_launch(launch, uses, orders, now);
  }
  for (; other != batch_.others.end(); ++other) history_.remember_other(*other);
  if (batch_.lost) {
    rules_.clear();
    lose_sync();
    finder_.interrupt();
  }
  if (has_active_plan()) log_.call_at(known_.active()->until_due());
  const bool is_timely = finder_.repeats() || scaled_.in_sync() || untimely_ < kMaxSteps;
  times_.store(short_ && (newest_.wants_plan() || scaled_.wants_times() || !has_active_plan()) && is_timely,
               std::memory_order_relaxed);
  history_.read_watches();
  history_.trim(newest_.needed_from(history_.next()));
}

void IterationTracker::read_launch(const LaunchLog::Launch& launch, std::span<const LaunchLog::Use> uses,
                                   Orders& orders, Nanoseconds now) {
  ++read_;
  for (const LaunchLog::Use& use : uses) count_use(*use.run, launch.epoch);
  note_extent(uses);
  const std::span<const LaunchLog::Use> parts = parts_of(uses);
  const std::uint64_t signature = signature_of(launch.work, parts, run_bytes);
  history_.remember(launch, signature, uses, parts.size(), now);
  finder_.note(signature, newest_.size());
  if (launch.watch && !finder_.repeats()) ++untimely_;
  if (short_) newest_.count_launch();
  known_.note(signature, finder_.context(), launch.epoch, parts);
  if (newest_.is_as_fast(history_, read_)) prefer_newest(history_.took(newest_.size()));
  const bool is_new_scale = follow_scale(launch, parts);
  const bool takes_over = known_.choose_active(scaled_);
  if (finder_.period() != 0 && read_ >= learn_from_ &&
      (known_.first_in_sync(false) == nullptr || known_.are_loops_in(finder_.period()) || is_longer_than_all())) {
    learn_iteration();
  }
  LearnedIteration* const active = known_.active();
  const LearnedIteration* const knows = active != nullptr ? active : known_.first_in_sync(false);
  if (knows != nullptr && knows == scaled_.known()) scaled_.predict(read_, launch.epoch);
  if (knows != nullptr && knows != scaled_.known()) knows->predict(parts, read_, launch.epoch);
  let_rules_compete(launch, signature, parts);
  if (active == nullptr) return;
  active->collect_due(orders, now, takes_over || is_new_scale);
  if (active->measured_if_worse()) demote(*active);
}

// A pass of another size gets a plan of its own, if no iteration of its size is known. True if it has one from now on.
bool IterationTracker::follow_scale(const LaunchLog::Launch& launch, std::span<const LaunchLog::Use> parts) {
  // One that has repeated for long will go on; a loop inside of an iteration ends.
  const LearnedIteration* const active = known_.active();
  const bool repeats_exactly = active != nullptr && active != scaled_.known() &&
                               active->iteration().steps.size() >= ScaledIteration::kLeast &&
                               active->kept() >= kLongRepeated * active->iteration().steps.size();
  if (!policy_->has_quick_strategy() || repeats_exactly) {
    sizes_vary_.store(false, std::memory_order_relaxed);
    scaled_.interrupt();
    return false;
  }
  scaled_.note(launch, parts, history_, all_runs_);
  sizes_vary_.store(scaled_.is_learned(), std::memory_order_relaxed);
  if (!short_ || !scaled_machine_.device || !scaled_.wants_plan()) return false;
  if (known_.first_in_sync(true) != nullptr) {
    scaled_.drop_plan();
    return false;
  }
  scaled_.make_plan(*policy_, scaled_machine_, history_);
  return scaled_.planned() != nullptr;
}

void IterationTracker::set_machine(const Machine& machine) {
  rules_.set_machine(machine);
  scaled_machine_ = machine;
  if (scaled_.is_learned()) scaled_machine_.device -= std::min(scaled_.pinned_beside(all_runs_), machine.device);
  machine_until_ = read_ + kMachineLook;
}

// A plan that soon ends, as one for a short loop inside of something longer does, interrupts nothing.
void IterationTracker::let_rules_compete(const LaunchLog::Launch& launch, std::uint64_t signature,
                                         std::span<const LaunchLog::Use> parts) {
  planned_ = has_active_plan() ? planned_ + 1 : 0;
  if (planned_ > kInterlude) return rules_.clear();
  rules_.note({launch.epoch, read_, history_.duration_like(launch.work, signature)}, parts);
}

void IterationTracker::note_extent(std::span<const LaunchLog::Use> uses) {
  Extent extent;
  for (const LaunchLog::Use& use : uses) {
    extent.bytes += use.run->shape.bytes();
    extent.blocks += use.run->owner.words.size() == 1 ? 1 : 0;
  }
  largest_ = {std::max(largest_.bytes, extent.bytes), std::max(largest_.blocks, extent.blocks)};
}

void IterationTracker::lose_sync() {
  known_.lose_sync();
  scaled_.interrupt();
}

// ---- learning -----------------------------------------------------------------------------------

// The sequence that the finder has found was repeated as a whole, with what came before the known iterations broke off:
// a validation pass looks like the beginning of the next iteration, so that as many launches as both have agree after a
// single one.
bool IterationTracker::is_longer_than_all() const {
  return finder_.agreed() >= finder_.period() + kContext && known_.broke_off_in(finder_.period());
}

// The last period() launches become the iteration; it begins where the program did, or where it last repeated as a
// whole. A short sequence of launches, such as one that initialises many blocks, becomes an iteration only in a program
// without a longer one. Where each round uses other memory, as each layer of a model has weights of its own, the
// iteration spans all rounds until the memory is the same again.
void IterationTracker::learn_iteration() {
  std::size_t period = finder_.period();
  if (period > std::min(kMaxSteps, history_.size())) return;
  const bool is_loop = period <= kContext;
  if (is_loop) {
    if (read_ % kSeldom != 0 || known_.have_longer_than(kContext)) return;
    period = same_memory_after(history_.record(), period, kSure);
    if (period == 0) return;
  }
  for (const auto& run : all_runs_) history_.note_freed(*run);
  Iteration iteration =
      iteration_of(history_.record(), period, std::max(finder_.agreed(), is_loop ? period : std::size_t{0}));
  if (iteration.uses.empty()) {  // nothing to plan, and so it is at the next launch
    learn_from_ = read_ + period;
    return;
  }
  std::vector<Order> runs = players(iteration);
  std::vector<std::uint64_t> signatures = finder_.last(period);
  const std::size_t again = is_loop ? 0 : finder_.agreed() % period;  // launches into the second repetition
  if (again != 0) {
    iteration = begun_at(iteration, static_cast<std::uint32_t>(period - again));
    std::rotate(signatures.begin(), signatures.end() - static_cast<std::ptrdiff_t>(again), signatures.end());
  }
  LearnedIteration& learned = known_.add(std::make_unique<LearnedIteration>(
      std::move(iteration), std::move(signatures), std::move(runs), (again + period - 1) % period));
  newest_.begin(learned, history_.next() - again - period, history_.took(period));
}

// The run that fills each role now; null where it is gone.
std::vector<LearnedIteration::Order> IterationTracker::players(const Iteration& iteration) const {
  const std::unordered_map<std::uint64_t, Run*> run_of = by_name(all_runs_);
  std::vector<Order> runs(iteration.runs.size());
  const std::vector<LastSeen> last = last_seen(history_.record(), iteration);
  for (std::size_t i = 0; i < last.size(); ++i) {
    const auto found = run_of.find(last[i].run);
    if (found != run_of.end()) runs[i] = {.run = found->second, .used = last[i].epoch};
  }
  return runs;
}

void IterationTracker::ask_for_plan(Machine machine) {
  const ResidencySnapshot snapshot(*newest_.learned(), all_runs_);
  machine.device -= std::min(snapshot.pinned_beside(), machine.device);
  newest_.set_asked(machine);
  Iteration question = snapshot.iteration();
  if (class_of_tag_) {
    for (IterationRun& run : question.runs) run.kind = class_of_tag_(run.tag);
  }
  planner_->ask(question, machine);
}

void IterationTracker::take_answer(Orders& orders) {
  std::vector<Candidate> candidates = planner_->answer();
  if (candidates.empty()) return;
  const bool is_only_one = !known_.have_plans();
  if (newest_.take(std::move(candidates), is_only_one)) prefer_newest(is_only_one ? Nanoseconds() : newest_.took());
  known_.choose_active(scaled_);
  if (known_.active() == newest_.learned()) newest_.learned()->catch_up(orders);
}

// `took`: measured time of an iteration with the learned iterations that it replaces; 0 = there are none.
void IterationTracker::prefer_newest(Nanoseconds took) {
  newest_.set_first();
  known_.prefer(*newest_.learned(), took);
}

void IterationTracker::demote(LearnedIteration& learned) {
  if (&learned == newest_.learned()) newest_.set_slower(learned.measured_if_worse(), read_);
  known_.demote(learned);
}

// One iteration is planned again: the best, if there was a plan, else the newest, for which durations are still
// collected. Others are learned again when the program returns to them.
void IterationTracker::set_policy(const Policy& policy, Planner& planner) {
  log_.call_at(0);
  policy_ = &policy;
  planner_ = &planner;
  rules_.set_rules(policy.rules());
  scaled_.drop_plan();
  LearnedIteration* const best = known_.keep_one(newest_.learned());
  if (best == nullptr) return newest_.clear();
  newest_.plan_again(*best);
}

void IterationTracker::activate_plan(Iteration iteration, const Strategy& strategy, const Machine& machine,
                                     std::span<Run* const> players, Orders& orders) {
  note_shortage();
  log_.take(batch_);  // launches before this belong to no iteration
  std::vector<std::uint64_t> signatures;
  const auto role = [&iteration](const RunUse& use) {
    const IterationRun& run = iteration.runs[use.run];
    return std::tuple(run.bytes, run.tag, use.writes);
  };
  for (std::uint32_t step = 0; step < iteration.steps.size(); ++step) {
    const IterationStep& place = iteration.steps[step];
    std::ranges::stable_sort(iteration.uses.begin() + place.first_use,  // the order of sort_parts_first()
                             iteration.uses.begin() + place.end_use, {}, role);
    const auto bytes_of = [&iteration](const RunUse& use) { return iteration.runs[use.run].bytes; };
    signatures.push_back(signature_of(nullptr, iteration.uses_of(step), bytes_of));
  }
  const std::size_t place = iteration.last_step.value_or(iteration.steps.size() - 1);
  std::vector<Order> runs(iteration.runs.size());
  for (std::size_t i = 0; i < std::min(players.size(), runs.size()); ++i) {
    if (players[i] != nullptr) runs[i] = {.run = players[i], .used = players[i]->last_work()};
  }
  LearnedIteration& learned = known_.add(
      std::make_unique<LearnedIteration>(std::move(iteration), std::move(signatures), std::move(runs), place));
  newest_.set_planned(learned);
  known_.set_active(learned);
  learned.foresee(read_);
  learned.set_candidates({{strategy, {}}}, machine);
  learned.catch_up(orders);
}

// REQUIRES (of the caller): every launch logged for the run has been read.
void IterationTracker::forget(const Run& run) {
  known_.forget(run);
  history_.note_freed(run);
  scaled_.forget(run);
  rules_.forget(run);
}

}  // namespace tessera
