// How long work takes on its stream: pairs of timed events around it, read when it is over.
//
// Thread safety: every call may be made from any thread.
//
// Bounds: at most `capacity` watches; start() returns nothing when all are in use.
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

  // Starts when the stream reaches it. nullopt: no watch is left, or the driver refuses; the work is then not timed.
  std::optional<Watch> start(StreamId stream);
  // False: it failed, and read() reports that.
  bool stop(Watch watch, StreamId stream);
  // The time taken; kNotReady while the work is in flight. Any other result releases the watch.
  Result<Nanoseconds> read(Watch watch);
  void give_back(Watch watch);

 private:
  struct Events {
    EventId start, stop;
    bool stopped = false;
    bool failed = false;  // stop() was called and failed
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
