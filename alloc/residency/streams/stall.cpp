#include "residency/streams/stall.hpp"

namespace tessera {

void Stall::go_on() {
  if (begun_) {
    add(aside_cause_, now() - aside_);
  } else {
    begin_ = now();
  }
  begun_ = true;
}

void Stall::step_aside(StallCause cause) {
  aside_ = now();
  aside_cause_ = cause;
}

void Stall::add(StallCause cause, Nanoseconds time) {
  const auto index = static_cast<std::size_t>(cause);
  waited_ |= 1U << index;
  times_[index] += time;
}

StallCause Stall::main_cause() const {
  std::size_t main = kStallCauses;
  for (std::size_t i = 0; i < kStallCauses; ++i) {
    if ((waited_ >> i & 1U) == 0) continue;
    if (main == kStallCauses || times_[i] > times_[main]) main = i;
  }
  return static_cast<StallCause>(main);
}

StallParts Stall::parts(Nanoseconds end) const {
  StallParts parts{};
  parts[static_cast<std::size_t>(main_cause())].stalls = 1;
  Nanoseconds rest = end - begin_;
  for (std::size_t i = 0; i < kStallCauses; ++i) {
    parts[i].time += times_[i];
    rest -= times_[i];
  }
  parts[static_cast<std::size_t>(StallCause::kMapping)].time += rest;
  return parts;
}

}  // namespace tessera
