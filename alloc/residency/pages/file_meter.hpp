// Measured throughput of one direction of the spill files.
//
// Transfers overlap and finish in any order, so the time counted is that in which any was in flight. Their ends are
// noticed late and in groups; over many transfers that averages out, so a busy period counts once it has carried
// enough. Older measurements decay.
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
  // Bytes per second; 0 before the first measurement.
  double rate() const { return seconds_ > 0 ? bytes_ / seconds_ : 0; }

 private:
  static constexpr Bytes kLeast = 32_MiB, kMost = 256_MiB;  // size of a busy period that counts
  static constexpr double kMemory = 4.0 * (1 << 30);        // bytes that have full weight

  std::uint64_t in_flight_ = 0;
  Nanoseconds began_{};             // start of the busy period
  Bytes carried_;                   // bytes carried in it
  double bytes_ = 0, seconds_ = 0;  // of earlier periods, decayed
};

}  // namespace tessera
