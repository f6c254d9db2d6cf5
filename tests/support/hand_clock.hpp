// A clock set by the test.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace tessera {

class HandClock final : public Clock {
 public:
  explicit HandClock(std::uint64_t ns = 0) : now_(ns) {}

  Nanoseconds now() const override { return Nanoseconds(now_.load()); }
  void set(std::uint64_t ns) { now_ = ns; }

 private:
  std::atomic<std::uint64_t> now_;
};

}  // namespace tessera
