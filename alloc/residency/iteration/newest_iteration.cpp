#include "residency/iteration/newest_iteration.hpp"

#include <algorithm>
#include <utility>

namespace tessera {

void NewestIteration::begin(LearnedIteration& learned, std::uint64_t first_launch, Nanoseconds took) {
  *this = NewestIteration();
  learned_ = &learned;
  first_launch_ = first_launch;
  took_ = took;
  wanted_ = true;
}

void NewestIteration::set_planned(LearnedIteration& learned) {
  learned_ = &learned;
  wanted_ = asked_ = false;
  own_time_ = {};
}

// Durations that were waited for are waited for on.
void NewestIteration::plan_again(LearnedIteration& learned) {
  if (!wanted_ || learned_ != &learned) waited_ = look_at_ = 0;
  learned_ = &learned;
  wanted_ = true;
  asked_ = false;
  own_time_ = {};
}

// ---- its plan -----------------------------------------------------------------------------------

void NewestIteration::count_launch() {
  if (wanted_ && learned_->in_sync()) ++waited_;
}

bool NewestIteration::learn_durations(const LaunchHistory& history) {
  if (learned_->iteration().steps.front().duration) return true;  // known since the previous policy
  if (waited_ < look_at_) return false;
  const std::size_t count = size();
  look_at_ = waited_ + std::max<std::size_t>(count / kLooks, 1);
  std::vector<Nanoseconds> durations = history.durations(first_launch_, count);
  std::uint64_t sum = 0, known = 0;
  for (const Nanoseconds duration : durations) {
    sum += duration.value();
    known += duration ? 1 : 0;
  }
  if (known < count - count / kFew && waited_ < count) return false;
  if (known == 0 && history.is_timing()) return false;
  const Nanoseconds mean(known == 0 ? 1 : sum / known);
  std::ranges::replace(durations, Nanoseconds(), mean);
  learned_->set_durations(durations, history.other_times(first_launch_, count));
  return true;
}

void NewestIteration::set_asked(const Machine& machine) {
  wanted_ = false;
  asked_ = true;
  machine_ = machine;
}

bool NewestIteration::take(std::vector<Candidate> candidates, bool is_only_one) {
  const Nanoseconds predicted = candidates.front().time;
  const bool comes_first = predicted < took_ || is_only_one;
  own_time_ = comes_first ? Nanoseconds() : predicted;
  compared_from_ = 0;
  learned_->set_candidates(std::move(candidates), machine_);
  return comes_first;
}

// ---- whether it is as fast ----------------------------------------------------------------------

bool NewestIteration::is_as_fast(const LaunchHistory& history, std::uint64_t read) const {
  if (!own_time_ || learned_->place() != 0 || !learned_->is_regular() || read < compared_from_) return false;
  const Nanoseconds took = history.took(size());
  return own_time_ < took + took / kTie;
}

void NewestIteration::set_slower(Nanoseconds time, std::uint64_t read) {
  own_time_ = time + time / kTie;
  compared_from_ = read + kSettled * size();
}

}  // namespace tessera
