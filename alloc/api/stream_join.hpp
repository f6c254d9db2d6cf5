// One stream that stands for several: it is ordered after everything queued on them at the time of the call.
//
// A block used by several streams is freed on it, so that the block is reused only after all of them are done, and none
// of them has to wait for another.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <span>

#include "base/mutex.hpp"
#include "driver/driver.hpp"

namespace tessera {

class StreamJoin {
 public:
  // REQUIRES: `driver` outlives it.
  StreamJoin(Driver& driver, DeviceId device) : driver_(driver), device_(device) {}
  ~StreamJoin();
  StreamJoin(const StreamJoin&) = delete;
  StreamJoin& operator=(const StreamJoin&) = delete;

  // Returns the stream after ordering its later work after everything queued on `streams` now. Created at the first
  // call. Errors: the driver's.
  Result<StreamId> behind(std::span<const StreamId> streams);

 private:
  Status start() REQUIRES_LOCK(mutex_);

  Driver& driver_;
  const DeviceId device_;
  Mutex mutex_{LockRank::kGiveBack};
  bool started_ GUARDED_BY(mutex_) = false;
  StreamId stream_ GUARDED_BY(mutex_);
  EventId event_ GUARDED_BY(mutex_);
};

}  // namespace tessera
