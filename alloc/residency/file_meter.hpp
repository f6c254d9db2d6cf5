// What one direction of the spill files really carries.
//
// Transfers are in flight together and finish in any order, so what counts is the time in which any was. Ends are
// noticed late, several at once: that does not matter over many of them, so a stretch of busy time counts if it has
// carried enough. What was long ago counts less and less.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace tessera {

class FileMeter {
 public:
  // A transfer was started.
  void begin(Nanoseconds now);
  // One ended. REQUIRES: it was begun.
  void end(Bytes bytes, Nanoseconds now);
  std::uint64_t in_flight() const { return in_flight_; }
  // Bytes per second; 0 while nothing was measured.
  double rate() const { return seconds_ > 0 ? bytes_ / seconds_ : 0; }

 private:
  static constexpr Bytes kLeast = 32_MiB, kMost = 256_MiB;  // of a stretch that counts
  static constexpr double kMemory = 4.0 * (1 << 30);        // bytes that count in full

  std::uint64_t in_flight_ = 0;
  Nanoseconds began_{};  // the stretch
  Bytes carried_;        // in it
  double bytes_ = 0, seconds_ = 0;  // of those before
};

}  // namespace tessera
