// Waiting for all work of a device, with a limit, as a driver offers it without one alone.
//
// A thread of its own makes the driver's call; whoever asks looks at what it has found. It is started at the first question:
// most programs have no work of which events do not tell.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstdint>
#include <thread>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "base/units.hpp"
#include "driver/driver.hpp"

namespace tessera {

class DeviceWait {
 public:
  // `beside`: else the caller waits, as time goes on by that alone on a simulated device.
  DeviceWait(Driver& driver, DeviceId device, bool beside) : driver_(driver), device_(device), beside_(beside) {}
  // Waits for the call that is under way.
  ~DeviceWait();

  // For all work that is queued by now: a number that is over when that is. Where no thread can be had, the call waits.
  std::uint64_t ask();
  // Errors: kNotReady while it goes on; the driver's, and whether the work is over is not known then.
  Status query(std::uint64_t number) const;
  // The same after `limit` at most.
  Status await(std::uint64_t number, Nanoseconds limit) const;

 private:
  void run();
  Status outcome(std::uint64_t number) const REQUIRES_LOCK(mutex_);

  Driver& driver_;
  const DeviceId device_;
  const bool beside_;
  mutable Mutex mutex_{LockRank::kDeviceWait};
  mutable Condition changed_;
  std::uint64_t asked_ GUARDED_BY(mutex_) = 0;
  std::uint64_t over_ GUARDED_BY(mutex_) = 0;
  Status result_ GUARDED_BY(mutex_);  // of the last call
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace tessera
