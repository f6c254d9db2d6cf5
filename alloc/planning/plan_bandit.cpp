#include "planning/plan_bandit.hpp"

#include <algorithm>
#include <utility>

namespace tessera {

PlanBandit::PlanBandit(std::span<const Nanoseconds> predicted) {
  for (const Nanoseconds time : predicted) arms_.push_back({time});
  current_ = static_cast<std::size_t>(std::ranges::min_element(predicted) - predicted.begin());
}

bool PlanBandit::note(Nanoseconds took) {
  if (is_idle()) return false;
  const Nanoseconds last = std::exchange(last_, took);
  if (!last) return false;
  Arm& tried = arms_[current_];
  const Nanoseconds longer = std::max(took, last), shorter = std::min(took, last);
  took_ += took;
  ++many_;
  if (tried.tried || (longer - shorter) * kAlike > longer) {
    if (many_ < kMany) return false;
    took = took_ / many_;
  }
  const Nanoseconds doubt = tried.tried ? took / kRegressionTolerance : Nanoseconds();
  tried = {took, true};
  if (took <= baseline_ + baseline_ / kRegressionTolerance) baseline_ = {};
  took_ = {};
  many_ = 0;
  const auto best = std::ranges::min_element(arms_, {}, &Arm::expected);
  if (best->expected() + doubt >= took) return false;
  interrupt();
  current_ = static_cast<std::size_t>(best - arms_.begin());
  return true;
}

void PlanBandit::set_baseline(Nanoseconds baseline) {
  baseline_ = baseline;
  for (Arm& candidate : arms_) candidate.tried = false;
}

Nanoseconds PlanBandit::measured_if_worse() const {
  const auto tried = std::ranges::find_if(arms_, &Arm::tried);
  return baseline_ && tried != arms_.end() ? tried->time : Nanoseconds();
}

void PlanBandit::interrupt() {
  last_ = took_ = {};
  many_ = 0;
}

}  // namespace tessera
