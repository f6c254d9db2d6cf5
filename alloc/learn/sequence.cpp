#include "learn/sequence.hpp"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

// The signatures are hashes already: one multiplication keeps their order apart.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  hash = (hash ^ value) * kOdd;
  return hash ^ (hash >> 32);
}

}  // namespace

// Of the last kContext launches, which REQUIRES that there are so many.
std::uint64_t SequenceLearner::context_hash() const {
  std::uint64_t hash = 0;
  for (std::uint64_t i = count_ - kContext; i < count_; ++i) hash = mix(hash, at(i));
  return hash;
}

SequenceLearner::Noted SequenceLearner::note(std::uint64_t signature) {
  if (history_.empty()) history_.resize(kHistory);
  follow_candidate(signature);
  follow_learned(signature);
  history_[count_ % kHistory] = signature;
  ++count_;
  look_up_context();

  Noted noted;
  // A candidate that held for a whole period, and is not what is followed anyway.
  if (distance_ != 0 && agreed_ >= distance_ && !position_) {
    adopt();
    noted.learned = true;
  }
  noted.position = position_;
  return noted;
}

void SequenceLearner::follow_candidate(std::uint64_t signature) {
  if (distance_ == 0) return;
  if (at(count_ - distance_) == signature) {
    ++agreed_;
  } else {
    distance_ = agreed_ = 0;
  }
}

void SequenceLearner::follow_learned(std::uint64_t signature) {
  if (!position_) return;
  position_ = (*position_ + 1) % learned_.size();
  if (learned_[*position_] != signature) position_.reset();
}

void SequenceLearner::look_up_context() {
  if (count_ < kContext) return;
  const std::uint64_t context = context_hash();
  if (!position_) {
    if (const auto place = places_.find(context); place != places_.end()) position_ = place->second;
  }
  if (seen_.size() >= kHistory) seen_.clear();
  const auto [seen, is_new] = seen_.try_emplace(context, count_);
  const std::uint64_t distance = count_ - std::exchange(seen->second, count_);
  if (is_new || distance_ != 0 || distance >= kHistory) return;
  distance_ = distance;
  agreed_ = agreement(distance);
}

// How many of the last launches agree with those `distance` earlier: a period at most, for what is longer
// than what is followed. An iteration with loops inside shows where a loop ends, and by then most of it
// has been gone through a second time.
std::uint64_t SequenceLearner::agreement(std::uint64_t distance) const {
  if (distance <= period()) return kContext;
  const std::uint64_t known = std::min<std::uint64_t>(count_, kHistory) - distance;
  std::uint64_t agreed = 0;
  while (agreed < std::min(distance, known) && at(count_ - 1 - agreed) == at(count_ - 1 - agreed - distance)) {
    ++agreed;
  }
  return agreed;
}

void SequenceLearner::adopt() {
  learned_.clear();
  for (std::uint64_t i = count_ - distance_; i < count_; ++i) learned_.push_back(at(i));
  find_places();
}

void SequenceLearner::teach(std::vector<std::uint64_t> period, std::size_t last) {
  learned_ = std::move(period);
  find_places();
  position_ = last;
}

void SequenceLearner::interrupt() {
  seen_.clear();
  distance_ = agreed_ = count_ = 0;
  position_.reset();
}

// The period has just been gone through, so its last launch is where we are.
void SequenceLearner::find_places() {
  places_.clear();
  for (std::size_t last = 0; last < learned_.size(); ++last) {
    std::uint64_t context = 0;
    for (std::size_t back = kContext; back-- > 0;) {
      const std::size_t size = learned_.size();
      context = mix(context, learned_[(last + size * kContext - back) % size]);
    }
    places_[context] = last;
  }
  position_ = learned_.size() - 1;
}

}  // namespace tessera
