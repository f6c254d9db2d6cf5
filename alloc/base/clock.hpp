// Time as an interface, so that a run can be simulated. No other code reads a system clock.
//
// Thread safety: now() may be called from any thread.
#pragma once

#include <chrono>

#include "base/units.hpp"

namespace tessera {

class Clock {
 public:
  virtual ~Clock() = default;
  // Time since a fixed point; monotonic.
  virtual Nanoseconds now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  Nanoseconds now() const override {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return Nanoseconds(static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()));
  }
};

}  // namespace tessera
