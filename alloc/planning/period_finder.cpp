#include "planning/period_finder.hpp"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

// A ring grows as it is filled: a simulation notes a thousand launches, and there are thousands of simulations.
void put(std::vector<std::uint64_t>& ring, std::size_t place, std::uint64_t value) {
  if (ring.size() <= place) ring.resize(place + 1);
  ring[place] = value;
}

}  // namespace

// The context at launch `count`, as far as launches are remembered.
std::optional<std::uint64_t> PeriodFinder::context_of(std::uint64_t count) const {
  if (count < count_ - size() + kContext) return std::nullopt;
  std::uint64_t context = 0;
  for (std::uint64_t i = count - kContext; i < count; ++i) context = mix_into_context(context, at(i));
  return context;
}

void PeriodFinder::note(std::uint64_t signature, std::size_t known) {
  known_ = known;
  follow_candidate(signature);
  put(history_, count_ % most_, signature);
  ++count_;
  const std::uint64_t before = note_context(count_);
  if (distance_ == 0) look_for_candidate(before);
}

void PeriodFinder::follow_candidate(std::uint64_t signature) {
  if (distance_ == 0) return;
  if (at(count_ - distance_) == signature) {
    ++agreed_;
  } else {
    distance_ = agreed_ = 0;
  }
}

// A new candidate starts with the next context that was seen before.
void PeriodFinder::rewrite(std::span<const std::uint64_t> signatures) {
  const std::uint64_t first = count_ - signatures.size();
  for (std::size_t i = 0; i < signatures.size(); ++i) history_[(first + i) % most_] = signatures[i];
  seen_.clear();
  for (std::uint64_t count = count_ - size() + 1; count <= count_; ++count) note_context(count);
  distance_ = agreed_ = 0;
}

std::uint64_t PeriodFinder::enough() const {
  if (distance_ < std::max(kLong, kFar * known_)) return distance_;
  return known_ == 0 ? std::max(distance_ / kSoon, kLong / 2) : distance_ / 2;
}

// Records the context at launch `count` and returns its previous occurrence; 0 = none.
std::uint64_t PeriodFinder::note_context(std::uint64_t count) {
  context_ = context_of(count);
  if (!context_) return 0;
  if (seen_.size() >= 2 * most_) seen_.clear();  // most entries refer to positions that are no longer remembered
  const std::uint64_t before = std::exchange(seen_[*context_], count);
  put(before_, count % most_, before);
  return before;
}

// Among the earlier occurrences of the context, chooses the one up to which the launches have agreed for
// longest, and the nearest of those. The passes of a loop are all alike; the launches before the loop
// distinguish them. Stops at a match of a whole period, which cannot be improved.
void PeriodFinder::look_for_candidate(std::uint64_t place) {
  for (std::size_t looks = 0; looks < kMostLooks && (distance_ == 0 || agreed_ < distance_); ++looks) {
    if (place == 0 || count_ - place >= most_) return;
    const std::uint64_t agreed = agreement(count_ - place);
    if (agreed > agreed_) {
      distance_ = count_ - place;
      agreed_ = agreed;
    }
    place = before_[place % most_];
  }
}

// The number of latest launches that agree with those `distance` earlier, at most one period, for distances
// longer than the followed period. An iteration with inner loops is detected where a loop ends, when most of it
// has already been repeated.
std::uint64_t PeriodFinder::agreement(std::uint64_t distance) const {
  if (distance <= known_) return kContext;
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
