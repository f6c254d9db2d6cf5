// Evicts all blocks of a program that has used none for a while (option sleep-when-idle). They come back as they are
// used (docs/decisions/0007-sleep-is-no-state.md).
//
// A program is idle when it has begun no use for the time, and all work that it has queued is over. A use that begins
// meanwhile ends the sleep at the next block.
//
// Thread safety: constructed and destroyed by its owner; look() by one thread at a time.
#pragma once

#include <atomic>
#include <memory>

#include "api/activity.hpp"
#include "api/device_heaps.hpp"
#include "api/hints.hpp"
#include "api/ticker.hpp"
#include "base/clock.hpp"

namespace tessera {

class IdleSleep {
 public:
  // After `after` without a use; 0: never. REQUIRES: what it refers to outlives it.
  IdleSleep(DeviceHeaps& heaps, Hints& hints, Activity& activity, const Clock& clock, Nanoseconds after)
      : heaps_(heaps), hints_(hints), activity_(activity), clock_(clock), after_(after) {}
  ~IdleSleep() { stop(); }

  // Starts a thread that looks; none if the time is 0.
  void start();
  // Ends it, and a sleep in progress at the next block.
  void stop();
  // Puts the blocks to sleep if it is time.
  void look();

 private:
  bool is_all_over();
  void report_once(const Status& status);

  DeviceHeaps& heaps_;
  Hints& hints_;
  Activity& activity_;
  const Clock& clock_;
  const Nanoseconds after_;
  Nanoseconds not_before_{};  // after a look that found work, or no room below
  bool reported_ = false;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Ticker> ticker_;  // may be null
};

}  // namespace tessera
