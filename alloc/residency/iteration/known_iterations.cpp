#include "residency/iteration/known_iterations.hpp"

#include <algorithm>
#include <utility>

#include "planning/period_finder.hpp"

namespace tessera {
namespace {

bool are_alike(Bytes a, Bytes b) {
  constexpr std::uint64_t kPart = 64;  // sums of bytes that differ by less are of the same sizes
  return std::max(a, b) - std::min(a, b) <= std::max(a, b) / kPart;
}

}  // namespace

void KnownIterations::note(std::uint64_t signature, std::optional<std::uint64_t> context, Epoch epoch,
                           std::span<const LaunchLog::Use> parts) {
  const LearnedIteration* const before = first_in_sync(false);
  for (const auto& learned : learned_) learned->note(signature, context, epoch, parts);
  if (before != nullptr && !before->in_sync()) before->end_predictions();
}

void KnownIterations::lose_sync() {
  for (const auto& learned : learned_) {
    if (learned->in_sync()) learned->end_predictions();
    learned->lose_sync();
  }
  active_ = nullptr;
}

void KnownIterations::clear() {
  lose_sync();
  learned_.clear();
}

void KnownIterations::forget(const Run& run) {
  for (const auto& learned : learned_) learned->forget(run);
}

// ---- which there are ----------------------------------------------------------------------------

LearnedIteration& KnownIterations::add(std::unique_ptr<LearnedIteration> learned) {
  make_place();
  learned_.push_back(std::move(learned));
  return *learned_.back();
}

// Only the newest is planned: others without a plan are learned again when the program returns to them. Of the rest,
// the one that the program left longest ago is dropped, and the active one last.
void KnownIterations::make_place() {
  std::erase_if(learned_, [](const auto& learned) { return !learned->has_plan(); });
  if (learned_.size() < kMost) return;
  const auto kept_for = [this](const auto& learned) {
    return std::pair(learned.get() == active_, learned->last_known());
  };
  learned_.erase(std::ranges::min_element(learned_, {}, kept_for));
}

LearnedIteration* KnownIterations::keep_one(LearnedIteration* newest) {
  active_ = nullptr;
  if (learned_.empty()) return nullptr;
  if (!learned_.front()->has_plan()) std::swap(learned_.front(), *place_of(newest));
  learned_.resize(1);
  learned_.front()->drop_strategies();
  return learned_.front().get();
}

bool KnownIterations::have_plans() const {
  return std::ranges::any_of(learned_, [](const auto& learned) { return learned->has_plan(); });
}

bool KnownIterations::have_longer_than(std::size_t launches) const {
  return std::ranges::any_of(learned_,
                             [launches](const auto& learned) { return learned->iteration().steps.size() > launches; });
}

bool KnownIterations::are_loops_in(std::size_t launches) const {
  return std::ranges::all_of(learned_, [launches](const auto& learned) {
    return launches >= PeriodFinder::kFar * learned->iteration().steps.size();
  });
}

bool KnownIterations::broke_off_in(std::size_t launches) const {
  return std::ranges::all_of(learned_, [launches](const auto& learned) {
    return learned->iteration().steps.size() < launches && learned->kept() < launches;
  });
}

// ---- which is followed --------------------------------------------------------------------------

LearnedIteration* KnownIterations::first_in_sync(bool with_plan) const {
  const auto first = std::ranges::find_if(
      learned_, [&](const auto& learned) { return learned->in_sync() && (learned->has_plan() || !with_plan); });
  return first == learned_.end() ? nullptr : first->get();
}

bool KnownIterations::choose_active(const ScaledIteration& scaled) {
  LearnedIteration* const first = best_in_sync(scaled);
  if (first == active_ || (active_ != scaled.planned() && stays_active(first))) return false;
  LearnedIteration* const last = std::exchange(active_, first);
  if (last != nullptr) last->deactivate();
  by_rank_ = false;
  return true;
}

// Of iterations with a part in common, a higher one is in sync there as well, but the program is in the one that it has
// followed for longer. One that is half as long or less may be a loop inside the other: then the rank decides.
bool KnownIterations::stays_active(const LearnedIteration* first) const {
  if (active_ == nullptr || first == nullptr || by_rank_) return false;
  const auto [least, most] = std::minmax({active_->iteration().steps.size(), first->iteration().steps.size()});
  if (least <= most / 2) return false;
  return active_->in_sync() && active_->has_plan() && !active_->gives_way() && active_->kept() > first->kept();
}

// An iteration of just the sizes of this pass has a better plan. A part that passes of all sizes have in common, as the
// optimizer's launches, does not bring one of other sizes to the front.
LearnedIteration* KnownIterations::best_in_sync(const ScaledIteration& scaled) const {
  LearnedIteration* const exact = first_in_sync(true);
  LearnedIteration* const planned = scaled.planned();
  const LearnedIteration* const pass = planned == nullptr ? scaled.sized() : planned;
  if (exact == nullptr) return planned;
  if (pass == nullptr || active_ == exact || are_alike(exact->run_bytes(), pass->run_bytes())) return exact;
  const bool is_of_other_size = exact->iteration().steps.size() == pass->iteration().steps.size();
  return is_of_other_size || (planned != nullptr && active_ == planned) ? planned : exact;
}

void KnownIterations::prefer(LearnedIteration& learned, Nanoseconds rival) {
  by_rank_ = true;
  learned.set_gives_way(false);
  learned.set_baseline(rival);
  const auto place = place_of(&learned);
  std::rotate(learned_.begin(), place, place + 1);
}

void KnownIterations::demote(LearnedIteration& learned) {
  learned.set_gives_way(true);
  learned.set_baseline({});
  const auto place = place_of(&learned);
  std::rotate(place, place + 1, learned_.end());
}

std::vector<std::unique_ptr<LearnedIteration>>::iterator KnownIterations::place_of(const LearnedIteration* learned) {
  return std::ranges::find(learned_, learned, &std::unique_ptr<LearnedIteration>::get);
}

}  // namespace tessera
