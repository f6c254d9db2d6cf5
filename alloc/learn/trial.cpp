#include "learn/trial.hpp"

#include <algorithm>
#include <utility>

namespace tessera {

Trial::Trial(std::span<const Nanoseconds> told) {
  for (const Nanoseconds time : told) candidates_.push_back({time});
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
  if (tried.tried || (longer - shorter) * kAlike > longer) {
    if (many_ < kMany) return false;
    took = took_ / many_;
  }
  const Nanoseconds doubt = tried.tried ? took / kWorse : Nanoseconds();
  tried = {took, true};
  if (took <= rival_ + rival_ / kWorse) rival_ = {};
  took_ = {};
  many_ = 0;
  const auto best = std::ranges::min_element(candidates_, {}, &Candidate::expected);
  if (best->expected() + doubt >= took) return false;
  interrupt();
  current_ = static_cast<std::size_t>(best - candidates_.begin());
  return true;
}

void Trial::compete_with(Nanoseconds rival) {
  rival_ = rival;
  for (Candidate& candidate : candidates_) candidate.tried = false;
}

Nanoseconds Trial::lost_with() const {
  const auto tried = std::ranges::find_if(candidates_, &Candidate::tried);
  return rival_ && tried != candidates_.end() ? tried->time : Nanoseconds();
}

void Trial::interrupt() {
  last_ = took_ = {};
  many_ = 0;
}

}  // namespace tessera
