// How long work takes on its stream: pairs of timed events around it, read when it is over.
//
// Thread safety: every call may be made from any thread.
//
// Bounds: at most `capacity` watches; start() says no when all are out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "driver/driver.hpp"

namespace tessera {

class Stopwatches {
 public:
  using Watch = std::uint32_t;

  Stopwatches(Driver& driver, DeviceId device, std::size_t capacity)
      : driver_(driver), device_(device), capacity_(capacity) {}
  ~Stopwatches();
  Stopwatches(const Stopwatches&) = delete;
  Stopwatches& operator=(const Stopwatches&) = delete;

  // Starts when the stream gets there. nullopt: none is left, or the driver refuses; then nothing
  // is timed, and nothing else is lost.
  std::optional<Watch> start(StreamId stream);
  // False: it cannot be, and read() says so.
  bool stop(Watch watch, StreamId stream);
  // The time it took; kNotReady while it is under way. Any other answer gives the watch back.
  Result<Nanoseconds> read(Watch watch);
  void give_back(Watch watch);

 private:
  struct Events {
    EventId start, stop;
    bool stopped = false;
    bool failed = false;  // to stop: it was told to, and cannot be
  };
  Result<Events> make_events();

  Driver& driver_;
  const DeviceId device_;
  const std::size_t capacity_;
  Mutex mutex_{LockRank::kStreams};
  std::vector<Events> events_ GUARDED_BY(mutex_);  // by watch
  std::vector<Watch> spare_ GUARDED_BY(mutex_);
};

}  // namespace tessera
