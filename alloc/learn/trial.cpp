#include "learn/trial.hpp"

#include <algorithm>
#include <utility>

namespace tessera {

Trial::Trial(std::span<const Nanoseconds> told) {
  for (const Nanoseconds time : told) candidates_.push_back({.told = time});
  current_ = static_cast<std::size_t>(std::ranges::min_element(told) - told.begin());
}

bool Trial::note(Nanoseconds took) {
  if (is_idle()) return false;
  const Nanoseconds last = std::exchange(last_, took);
  if (!last) return false;
  Candidate& tried = candidates_[current_];
  const Nanoseconds longer = std::max(took, last), shorter = std::min(took, last);
  took_ += took;
  ++many_;
  if (tried.taken || (longer - shorter) * kAlike > longer) {
    if (many_ < kMany) return false;
    took = took_ / many_;
  }
  const Nanoseconds doubt = tried.taken ? took / kWorse : Nanoseconds();
  tried.taken = std::max(took, Nanoseconds(1));
  took_ = {};
  many_ = 0;
  const auto time_of = [this](const Candidate& candidate) { return expected(candidate); };
  const auto best = std::ranges::min_element(candidates_, {}, time_of);
  if (time_of(*best) + doubt >= took) return false;
  interrupt();
  current_ = static_cast<std::size_t>(best - candidates_.begin());
  return true;
}

// A told time is not exact, and to try it costs an iteration or two that are like neither.
Nanoseconds Trial::expected(const Candidate& candidate) const {
  if (candidate.taken) return candidate.taken;
  double told = 0, taken = 0;
  for (const Candidate& each : candidates_) {
    if (!each.taken) continue;
    told += static_cast<double>(each.told.value());
    taken += static_cast<double>(each.taken.value());
  }
  const double longer = taken > told && told > 0 ? (taken - told) / told / 2 : 0;
  return candidate.told + candidate.told / kAlike +
         Nanoseconds(static_cast<std::uint64_t>(static_cast<double>(candidate.told.value()) * longer));
}

void Trial::interrupt() {
  last_ = took_ = {};
  many_ = 0;
}

}  // namespace tessera
