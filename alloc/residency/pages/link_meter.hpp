// Measured throughput of one direction of the link: a few copies are timed every now and then.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "residency/streams/stopwatches.hpp"

namespace tessera {

class LinkMeter {
 public:
  LinkMeter(Driver& driver, DeviceId device) : watches_(driver, device, kSamples) {}

  // Call around the queueing of each copy on the link's own stream.
  void before(StreamId stream);
  void after(StreamId stream, Bytes bytes);
  // Bytes per second; 0 before the first measurement.
  double rate();

 private:
  static constexpr std::size_t kSamples = 8;
  static constexpr std::uint64_t kRest = 4096;  // untimed copies between two series

  struct Sample {
    Stopwatches::Watch watch;
    Bytes bytes;
  };
  void read();

  Stopwatches watches_;
  std::optional<Stopwatches::Watch> running_;
  std::vector<Sample> samples_;  // not read yet
  std::size_t timed_ = 0;        // copies of the current series
  std::uint64_t resting_ = 0;
  Bytes bytes_;  // of the current series
  double seconds_ = 0;
  double rate_ = 0;
};

}  // namespace tessera
