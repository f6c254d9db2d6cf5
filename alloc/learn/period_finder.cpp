#include "learn/period_finder.hpp"

#include <algorithm>
#include <utility>

namespace tessera {

// Of the last of so many launches.
std::optional<std::uint64_t> PeriodFinder::context_of(std::uint64_t count) const {
  if (count < kContext) return std::nullopt;
  std::uint64_t context = 0;
  for (std::uint64_t i = count - kContext; i < count; ++i) context = mix_into_context(context, at(i));
  return context;
}

void PeriodFinder::note(std::uint64_t signature, std::size_t known) {
  if (history_.empty()) history_.resize(most_);
  known_ = known;
  follow_candidate(signature);
  history_[count_ % most_] = signature;
  ++count_;
  context_ = context_of(count_);
  look_up_context(known);
}

void PeriodFinder::follow_candidate(std::uint64_t signature) {
  if (distance_ == 0) return;
  if (at(count_ - distance_) == signature) {
    ++agreed_;
  } else {
    distance_ = agreed_ = 0;
  }
}

// A candidate begins anew with the next context that was seen before.
void PeriodFinder::rewrite(std::span<const std::uint64_t> signatures) {
  const std::uint64_t first = count_ - signatures.size();
  for (std::size_t i = 0; i < signatures.size(); ++i) history_[(first + i) % most_] = signatures[i];
  const std::uint64_t oldest = count_ - size();
  if (seen_.size() + signatures.size() >= most_) seen_.clear();
  for (std::uint64_t count = std::max(first, oldest + kContext - 1) + 1; count <= count_; ++count) {
    if (const auto context = context_of(count)) seen_[*context] = count;
  }
  context_ = context_of(count_);
  distance_ = agreed_ = 0;
}

std::uint64_t PeriodFinder::enough() const {
  return distance_ >= std::max(kLong, kFar * known_) ? distance_ / 2 : distance_;
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
  distance_ = agreed_ = count_ = 0;
}

std::vector<std::uint64_t> PeriodFinder::last(std::size_t launches) const {
  std::vector<std::uint64_t> signatures;
  for (std::uint64_t i = count_ - launches; i < count_; ++i) signatures.push_back(at(i));
  return signatures;
}

}  // namespace tessera
