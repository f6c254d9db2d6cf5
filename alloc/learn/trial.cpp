#include "learn/trial.hpp"

#include <algorithm>
#include <utility>

namespace tessera {

Trial::Trial(std::span<const Nanoseconds> told) {
  for (const Nanoseconds time : told) candidates_.push_back({time});
  current_ = static_cast<std::size_t>(std::ranges::min_element(told) - told.begin());
}

bool Trial::note(Nanoseconds took) {
  if (candidates_.empty() || candidates_[current_].tried) return false;
  const Nanoseconds last = std::exchange(last_, took);
  if (!last) return false;
  const Nanoseconds longer = std::max(took, last), shorter = std::min(took, last);
  if ((longer - shorter) * kAlike > longer && ++unlike_ < kMostUnlike) return false;
  candidates_[current_] = {took, true};
  const auto best = std::ranges::min_element(candidates_, {}, &Candidate::time);
  interrupt();
  return std::exchange(current_, static_cast<std::size_t>(best - candidates_.begin())) != current_;
}

void Trial::interrupt() {
  last_ = {};
  unlike_ = 0;
}

}  // namespace tessera
