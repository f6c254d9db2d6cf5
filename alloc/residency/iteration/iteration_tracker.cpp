#include "residency/iteration/iteration_tracker.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/decayed_count.hpp"
#include "residency/iteration/launch_signature.hpp"
#include "residency/iteration/recorded_iteration.hpp"
#include "residency/iteration/residency_snapshot.hpp"

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

bool are_alike(Bytes a, Bytes b) {
  constexpr std::uint64_t kPart = 64;  // sums of bytes that differ by less are of the same sizes
  return std::max(a, b) - std::min(a, b) <= std::max(a, b) / kPart;
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
    learned_.clear();
    scaled_.clear();
    newest_ = nullptr;
    wanted_ = asked_ = false;
    challenger_time_ = {};
  }
  log_.look_from(1);
  log_.switch_on();
}

void IterationTracker::note_moved(std::span<const MovedBlock> moved) {
  history_.rewrite(moved);
  finder_.rewrite(history_.last_signatures(finder_.size()));
}

void IterationTracker::read(Orders& orders, Nanoseconds now) {
  if (asked_) take_answer(orders);
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
  if (has_active_plan()) log_.call_at(active_->until_due());
  const bool is_timely = finder_.repeats() || scaled_.in_sync() || untimely_ < kMaxSteps;
  times_.store(short_ && (wanted_ || scaled_.wants_times() || !has_active_plan()) && is_timely,
               std::memory_order_relaxed);
  history_.read_watches();
  history_.trim(wanted_ ? began_ : history_.next());
}

void IterationTracker::read_launch(const LaunchLog::Launch& launch, std::span<const LaunchLog::Use> uses,
                                   Orders& orders, Nanoseconds now) {
  ++read_;
  for (const LaunchLog::Use& use : uses) count_use(*use.run, launch.epoch);
  note_extent(uses);
  const std::span<const LaunchLog::Use> parts = parts_of(uses);
  const std::uint64_t signature = signature_of(launch.work, parts, run_bytes);
  history_.remember(launch, signature, uses, parts.size(), now);
  finder_.note(signature, newest_ == nullptr ? 0 : newest_->iteration().steps.size());
  if (launch.watch && !finder_.repeats()) ++untimely_;
  if (short_ && wanted_ && newest_->in_sync()) ++waited_;
  const LearnedIteration* const before = first_in_sync(false);
  const std::optional<std::uint64_t> context = finder_.context();
  for (const auto& learned : learned_) learned->note(signature, context, launch.epoch, parts);
  if (before != nullptr && !before->in_sync()) before->end_predictions();
  if (challenger_time_ && is_as_fast()) prefer_newest(history_.took(newest_->iteration().steps.size()));
  const bool is_new_scale = follow_scale(launch, parts);
  const bool takes_over = choose_active();
  if (finder_.period() != 0 && read_ >= learn_from_ &&
      (first_in_sync(false) == nullptr || is_around_all() || is_longer_than_all())) {
    learn_iteration();
  }
  const LearnedIteration* const knows = has_active_plan() ? active_ : first_in_sync(false);
  if (knows != nullptr && knows == scaled_.known()) scaled_.predict(read_, launch.epoch);
  if (knows != nullptr && knows != scaled_.known()) knows->predict(parts, read_, launch.epoch);
  let_rules_compete(launch, signature, parts);
  if (!has_active_plan()) return;
  active_->collect_due(orders, now, takes_over || is_new_scale);
  if (active_->measured_if_worse()) demote(*active_);
}

// A pass of another size gets a plan of its own, if no iteration of its size is known. True if it has one from now on.
bool IterationTracker::follow_scale(const LaunchLog::Launch& launch, std::span<const LaunchLog::Use> parts) {
  // One that has repeated for long will go on; a loop inside of an iteration ends.
  const bool repeats_exactly = active_ != nullptr && active_ != scaled_.known() &&
                               active_->iteration().steps.size() >= ScaledIteration::kLeast &&
                               active_->kept() >= kLongRepeated * active_->iteration().steps.size();
  if (!policy_->has_quick_strategy() || repeats_exactly) {
    scaled_.interrupt();
    return false;
  }
  scaled_.note(launch, parts, history_, all_runs_);
  if (!short_ || !scaled_machine_.device || !scaled_.wants_plan()) return false;
  if (first_in_sync(true) != nullptr) {
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

// True if the active learned iteration changed.
bool IterationTracker::choose_active() {
  LearnedIteration* const first = best_in_sync();
  if (first == active_ || (active_ != scaled_.planned() && stays_active(first))) return false;
  LearnedIteration* const last = std::exchange(active_, first);
  if (last != nullptr) last->deactivate();
  by_rank_ = false;
  return true;
}

// Iterations of about as many launches may have a part in common, as those of several sentence lengths have the
// optimizer's launches. There a higher one is in sync as well, but the program is in the one that it has followed for
// longer. One that is half as long or less may be a loop inside the other: then the rank decides.
bool IterationTracker::stays_active(const LearnedIteration* first) const {
  if (active_ == nullptr || first == nullptr || by_rank_) return false;
  const auto [least, most] = std::minmax({active_->iteration().steps.size(), first->iteration().steps.size()});
  if (least <= most / 2) return false;
  return active_->in_sync() && active_->has_plan() && !active_->gives_way() && active_->kept() > first->kept();
}

LearnedIteration* IterationTracker::first_in_sync(bool with_plan) const {
  const auto first = std::ranges::find_if(
      learned_, [&](const auto& learned) { return learned->in_sync() && (learned->has_plan() || !with_plan); });
  return first == learned_.end() ? nullptr : first->get();
}

// An iteration of just the sizes of this pass has a better plan. A part that passes of all sizes have in common, as the
// optimizer's launches, does not bring one of other sizes to the front.
LearnedIteration* IterationTracker::best_in_sync() const {
  LearnedIteration* const exact = first_in_sync(true);
  LearnedIteration* const scaled = scaled_.planned();
  const LearnedIteration* const pass = scaled == nullptr ? scaled_.sized() : scaled;
  if (exact == nullptr) return scaled;
  if (pass == nullptr || active_ == exact || are_alike(exact->run_bytes(), pass->run_bytes())) return exact;
  const bool is_of_other_size = exact->iteration().steps.size() == pass->iteration().steps.size();
  return is_of_other_size || (scaled != nullptr && active_ == scaled) ? scaled : exact;
}

void IterationTracker::lose_sync() {
  for (const auto& learned : learned_) {
    if (learned->in_sync()) learned->end_predictions();
    learned->lose_sync();
  }
  scaled_.interrupt();
  active_ = nullptr;
}

// ---- learning -----------------------------------------------------------------------------------

// All known iterations are loops inside the sequence that the finder has found; the program may stay in them for long.
bool IterationTracker::is_around_all() const {
  return std::ranges::all_of(learned_, [this](const auto& learned) {
    return finder_.period() >= PeriodFinder::kFar * learned->iteration().steps.size();
  });
}

// The sequence that the finder has found was repeated as a whole, and whatever known iteration the program seems to be
// in broke off during that: two of them that differ in a few launches, for one, of which one was learned. The
// repetition has to include what came before the break: a validation pass looks like the beginning of the next
// iteration, so that as many launches as both have agree after a single one.
bool IterationTracker::is_longer_than_all() const {
  const std::size_t period = finder_.period();
  return finder_.agreed() >= period + kContext && std::ranges::all_of(learned_, [period](const auto& learned) {
           return learned->iteration().steps.size() < period && learned->kept() < period;
         });
}

// The last period() launches become the iteration; it begins where the program did, or where it last repeated as a
// whole. A short sequence of launches, such as one that initialises many blocks, becomes an iteration only in a program
// without a longer one. Where each round uses other memory, as each layer of a model has weights of its own, the
// iteration spans all rounds until the memory is the same again.
void IterationTracker::learn_iteration() {
  std::size_t period = finder_.period();
  if (period > std::min(kMaxSteps, history_.size())) return;
  const bool is_loop = period <= kContext;
  const auto is_longer = [](const auto& learned) { return learned->iteration().steps.size() > kContext; };
  if (is_loop) {
    if (read_ % kSeldom != 0 || std::ranges::any_of(learned_, is_longer)) return;
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
  make_place();
  learned_.push_back(std::make_unique<LearnedIteration>(std::move(iteration), std::move(signatures), std::move(runs),
                                                        (again + period - 1) % period));
  newest_ = learned_.back().get();
  took_ = history_.took(period);
  began_ = history_.next() - again - period;
  waited_ = look_at_ = 0;
  wanted_ = true;
  asked_ = false;
  challenger_time_ = {};
}

// Only the newest is planned: others without a plan are learned again when the program returns to them. Of the rest,
// the one that the program left longest ago is dropped, and the active one last.
void IterationTracker::make_place() {
  std::erase_if(learned_, [](const auto& learned) { return !learned->has_plan(); });
  if (learned_.size() < kMostIterations) return;
  const auto kept_for = [this](const auto& learned) {
    return std::pair(learned.get() == active_, learned->last_known());
  };
  learned_.erase(std::ranges::min_element(learned_, {}, kept_for));
}

// The run that fills each role now; null where it is gone.
std::vector<LearnedIteration::Order> IterationTracker::players(const Iteration& iteration) const {
  std::unordered_map<std::uint64_t, Run*> run_of;  // by name
  for (const auto& run : all_runs_) {
    run_of[run->name] = run.get();
    run_of[run->whole().name] = &run->whole();
  }
  std::vector<Order> runs(iteration.runs.size());
  const std::vector<LastSeen> last = last_seen(history_.record(), iteration);
  for (std::size_t i = 0; i < last.size(); ++i) {
    const auto found = run_of.find(last[i].run);
    if (found != run_of.end()) runs[i] = {.run = found->second, .used = last[i].epoch};
  }
  return runs;
}

// All but a few durations have to be known, or after one more iteration those that there are; the rest are set to the
// mean. Checked a few times per iteration. In a short loop none is known until the device has executed it.
bool IterationTracker::learns_durations() {
  const Iteration& iteration = newest_->iteration();
  if (iteration.steps.front().duration) return true;  // known since the previous policy
  if (waited_ < look_at_) return false;
  const std::size_t count = iteration.steps.size();
  look_at_ = waited_ + std::max<std::size_t>(count / kLooks, 1);
  std::vector<Nanoseconds> durations = history_.durations(began_, count);
  std::uint64_t sum = 0, known = 0;
  for (const Nanoseconds duration : durations) {
    sum += duration.value();
    known += duration ? 1 : 0;
  }
  if (known < count - count / kFew && waited_ < count) return false;
  if (known == 0 && history_.is_timing()) return false;
  const Nanoseconds mean(known == 0 ? 1 : sum / known);
  std::ranges::replace(durations, Nanoseconds(), mean);
  newest_->set_durations(durations, history_.other_times(began_, count));
  return true;
}

void IterationTracker::ask_for_plan(const Machine& machine) {
  wanted_ = false;
  asked_ = true;
  machine_ = machine;
  const ResidencySnapshot snapshot(*newest_, all_runs_);
  machine_.device -= std::min(snapshot.pinned_beside(), machine_.device);
  Iteration question = snapshot.iteration();
  if (class_of_tag_) {
    for (IterationRun& run : question.runs) run.kind = class_of_tag_(run.tag);
  }
  planner_->ask(question, machine_);
}

// If none was active before, a strategy need not be faster. Otherwise the active iteration may be a loop in the new
// one, or the new one may be two of the old plus an interruption: which is better is measured as the program goes on.
void IterationTracker::take_answer(Orders& orders) {
  std::vector<Candidate> candidates = planner_->answer();
  if (candidates.empty()) return;
  const auto has_plan = [](const auto& learned) { return learned->has_plan(); };
  const bool is_only_one = std::ranges::none_of(learned_, has_plan);
  const bool goes_first = candidates.front().time < took_ || is_only_one;
  challenger_time_ = goes_first ? Nanoseconds() : candidates.front().time;
  challenger_from_ = 0;
  newest_->set_candidates(std::move(candidates), machine_);
  if (goes_first) prefer_newest(is_only_one ? Nanoseconds() : took_);
  choose_active();
  if (active_ == newest_) newest_->catch_up(orders);
}

// Checked whenever the newest begins again: the active one may only now have reached its steady time.
bool IterationTracker::is_as_fast() const {
  if (newest_->place() != 0 || !newest_->is_regular() || read_ < challenger_from_) return false;
  const Nanoseconds took = history_.took(newest_->iteration().steps.size());
  return challenger_time_ < took + took / kTie;
}

// `took`: measured time of an iteration with the learned iterations that it replaces; 0 = there are none.
void IterationTracker::prefer_newest(Nanoseconds took) {
  challenger_time_ = {};
  by_rank_ = true;
  newest_->set_gives_way(false);
  newest_->set_baseline(took);
  const auto place = std::ranges::find(learned_, newest_, &std::unique_ptr<LearnedIteration>::get);
  std::rotate(learned_.begin(), place, place + 1);
}

// It was predicted to be faster than the others and measures slower. The others may have run with an emptier device
// then, so it is compared again later by its own measured time, without counting a tie.
void IterationTracker::demote(LearnedIteration& learned) {
  if (&learned == newest_) {
    challenger_time_ = learned.measured_if_worse() + learned.measured_if_worse() / kTie;
    challenger_from_ = read_ + kSettled * learned.iteration().steps.size();
  }
  learned.set_gives_way(true);
  learned.set_baseline({});
  const auto place = std::ranges::find(learned_, &learned, &std::unique_ptr<LearnedIteration>::get);
  std::rotate(place, place + 1, learned_.end());
}

// One iteration is planned again: the best, if there was a plan, else the newest, for which durations are still
// collected. Others are learned again when the program returns to them.
void IterationTracker::set_policy(const Policy& policy, Planner& planner) {
  log_.call_at(0);
  policy_ = &policy;
  planner_ = &planner;
  rules_.set_rules(policy.rules());
  asked_ = false;
  challenger_time_ = {};
  active_ = nullptr;
  scaled_.drop_plan();
  if (learned_.empty()) return;
  if (learned_.front()->has_plan()) {
    wanted_ = wanted_ && newest_ == learned_.front().get();
  } else {
    std::swap(learned_.front(), *std::ranges::find(learned_, newest_, &std::unique_ptr<LearnedIteration>::get));
  }
  learned_.resize(1);
  newest_ = learned_.front().get();
  newest_->drop_strategies();
  if (std::exchange(wanted_, true)) return;
  waited_ = look_at_ = 0;
}

void IterationTracker::activate_plan(Iteration iteration, const Strategy& strategy, const Machine& machine,
                                     std::span<Run* const> players, Orders& orders) {
  note_shortage();
  log_.take(batch_);  // launches before this belong to no iteration
  wanted_ = asked_ = false;
  challenger_time_ = {};
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
  learned_.push_back(
      std::make_unique<LearnedIteration>(std::move(iteration), std::move(signatures), std::move(runs), place));
  active_ = newest_ = learned_.back().get();
  active_->foresee(read_);
  active_->set_candidates({{strategy, {}}}, machine);
  active_->catch_up(orders);
}

// REQUIRES (of the caller): every launch logged for the run has been read.
void IterationTracker::forget(const Run& run) {
  for (const auto& learned : learned_) learned->forget(run);
  history_.note_freed(run);
  scaled_.forget(run);
  rules_.forget(run);
}

}  // namespace tessera
