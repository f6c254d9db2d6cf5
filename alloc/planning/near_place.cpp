#include "planning/near_place.hpp"

namespace tessera {

// Up to the last launch one way was possible; from there on steps may be missing.
void NearPlace::begin_search() {
  ways_.assign(2 * band_ + 1, {});
  for (std::size_t missing = 0; missing <= band_; ++missing) {
    ways_[band_ + missing] = {static_cast<Cost>(missing) * kMissing, missing == 0};
  }
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
