// Waits for all work of a device, with a time limit. A driver offers this wait only without a limit.
//
// A thread of its own makes the driver's call, and the callers poll its result. It is started at the first request: in most
// programs events cover all work.
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
  // `beside`: wait on a thread. Otherwise the caller waits, since in virtual time only a waiting caller advances the clock.
  DeviceWait(Driver& driver, DeviceId device, bool beside) : driver_(driver), device_(device), beside_(beside) {}
  // Waits until the driver's call in progress returns.
  ~DeviceWait();

  // Requests a wait for all work queued so far; returns its number. If no thread can be started, the call itself waits.
  std::uint64_t ask();
  // Errors: kNotReady while the wait continues; the driver's, in which case it is unknown whether the work is over.
  Status query(std::uint64_t number) const;
  // As query(), after waiting for at most `limit` of real time.
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
