// Whether runs are evicted on the engine's own decision. While that is off, work may use them unannounced.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include "residency/locked_engine.hpp"

namespace tessera {

class AutomaticEviction {
 public:
  // REQUIRES: it outlives this.
  explicit AutomaticEviction(LockedEngine& locked) : locked_(locked) {}

  // Off: live runs are evicted by evict() and sleep() only, since work may use them unannounced; these then wait for
  // all work on the device. Switching on also waits for that work; switching off waits for copies out in flight, and
  // their pages stay. Errors: the driver's.
  Status set(bool on);
  bool is_on() const { return locked_.automatic.load(); }
  // Before an eviction on request. While it is off: waits for all work, and counts every run on the device as written.
  // Errors: the driver's.
  Status account_for_unannounced();

 private:
  Status keep_evicting_runs() REQUIRES_LOCK(locked_.mutex);

  LockedEngine& locked_;
};

}  // namespace tessera
