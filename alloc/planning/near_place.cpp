#include "planning/near_place.hpp"

namespace tessera {

// Up to the last launch one way was possible; from there on steps may be missing.
void NearPlace::begin_search() {
  ways_.assign(2 * band_ + 1, {});
  for (std::size_t missing = 0; missing <= band_; ++missing) {
    ways_[band_ + missing] = {static_cast<Cost>(missing) * kMissing, missing == 0};
  }
}

// The row of the last launch: it is one of the steps or none of them, and steps behind it may be missing.
void NearPlace::align(Cost other) {
  if (ways_.empty()) begin_search();
  next_.assign(ways_.size(), {});
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const auto offer = [&way = next_[i]](Cost cost, bool is_step) {
      if (cost < way.cost) way = {cost, is_step};
    };
    offer(ways_[i].cost + other, false);
    if (i == 0) continue;
    offer(ways_[i - 1].cost + costs_[i], true);
    offer(next_[i - 1].cost + kMissing, false);
  }
  ways_.swap(next_);
  std::size_t best = ways_[band_].cost < ways_[band_ + 1].cost ? band_ : band_ + 1;  // also of equals
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    if (ways_[i].cost < ways_[best].cost) best = i;
  }
  const Cost least = ways_[best].cost;
  for (Way& way : ways_) way.cost -= least;
  mean_cost_ += static_cast<double>(least) / kMeanLaunches;
  settled_ = least == 0 && best == band_ + 1 && ways_[best].is_step ? settled_ + 1 : 0;
  move_to(best);
  if (settled_ >= kSettled) ways_.clear();
}

// The band moves with the position.
void NearPlace::move_to(std::size_t offset) {
  is_step_ = ways_[offset].is_step;
  place_ = step_at(offset);
  next_.assign(ways_.size(), {});
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const std::size_t from = i + offset;
    if (from >= band_ && from - band_ < ways_.size()) next_[i] = ways_[from - band_];
  }
  ways_.swap(next_);
}

}  // namespace tessera
