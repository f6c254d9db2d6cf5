#include "learn/period_finder.hpp"

#include <algorithm>
#include <utility>

namespace tessera {

void PeriodFinder::note_context() {
  if (count_ < kContext) return;
  std::uint64_t context = 0;
  for (std::uint64_t i = count_ - kContext; i < count_; ++i) context = mix_into_context(context, at(i));
  context_ = context;
}

void PeriodFinder::note(std::uint64_t signature, std::size_t known) {
  if (history_.empty()) history_.resize(most_);
  is_first_ = known == 0;
  follow_candidate(signature);
  history_[count_ % most_] = signature;
  ++count_;
  note_context();
  look_up_context(known);
}

void PeriodFinder::follow_candidate(std::uint64_t signature) {
  if (distance_ == 0) return;
  if (at(count_ - distance_) == signature) {
    ++agreed_;
    if (agreed_ >= distance_ && distance_ == expected_) expected_ = 0;
    return;
  }
  if (least_ && distance_ >= *least_) {
    expected_ = distance_;
    least_.reset();
  }
  distance_ = agreed_ = 0;
}

void PeriodFinder::expect_change(std::size_t least) {
  least_ = least;
  changes_at_ = count_;
}

std::uint64_t PeriodFinder::enough() const {
  if (distance_ == expected_ && count_ >= changes_at_ + distance_) return kContext;
  return is_first_ && distance_ >= kLong ? distance_ / 2 : distance_;
}

void PeriodFinder::look_up_context(std::size_t known) {
  if (!context_) return;
  if (seen_.size() >= most_) seen_.clear();
  const auto [seen, is_new] = seen_.try_emplace(*context_, count_);
  const std::uint64_t distance = count_ - std::exchange(seen->second, count_);
  if (is_new || distance_ != 0 || distance >= most_) return;
  distance_ = distance;
  agreed_ = agreement(distance, known);
}

// How many of the last launches agree with those `distance` earlier: a period at most, for what is longer
// than what is followed. An iteration with loops inside shows where a loop ends, and by then most of it
// has been gone through a second time.
std::uint64_t PeriodFinder::agreement(std::uint64_t distance, std::size_t known) const {
  if (distance <= known) return kContext;
  const std::uint64_t remembered = std::min<std::uint64_t>(count_, most_) - distance;
  std::uint64_t agreed = 0;
  while (agreed < std::min(distance, remembered) && at(count_ - 1 - agreed) == at(count_ - 1 - agreed - distance)) {
    ++agreed;
  }
  return agreed;
}

void PeriodFinder::interrupt() {
  seen_.clear();
  context_.reset();
  least_.reset();
  distance_ = agreed_ = count_ = expected_ = 0;
}

std::vector<std::uint64_t> PeriodFinder::last(std::size_t launches) const {
  std::vector<std::uint64_t> signatures;
  for (std::uint64_t i = count_ - launches; i < count_; ++i) signatures.push_back(at(i));
  return signatures;
}

}  // namespace tessera
