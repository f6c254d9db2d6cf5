// What one direction of the link really carries: a few copies are timed, now and then again.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "residency/stopwatches.hpp"

namespace tessera {

class LinkMeter {
 public:
  LinkMeter(Driver& driver, DeviceId device) : watches_(driver, device, kSamples) {}

  // Around the queueing of each copy on the link's own stream.
  void before(StreamId stream);
  void after(StreamId stream, Bytes bytes);
  // Bytes per second; 0 while nothing was measured.
  double rate();

 private:
  static constexpr std::size_t kSamples = 8;
  static constexpr std::uint64_t kRest = 4096;  // copies that pass untimed between two series

  struct Sample {
    Stopwatches::Watch watch;
    Bytes bytes;
  };
  void read();

  Stopwatches watches_;
  std::optional<Stopwatches::Watch> running_;
  std::vector<Sample> samples_;  // not read yet
  std::size_t timed_ = 0;        // copies of the series so far
  std::uint64_t resting_ = 0;
  Bytes bytes_;                  // of the series so far
  double seconds_ = 0;
  double rate_ = 0;
};

}  // namespace tessera
