// One stream that stands for several: it is behind what all of them had queued when asked.
//
// A block that several streams use is freed on it, so that nobody reuses the block before all of
// them are done, and none of them has to wait for another.
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

  // The stream whose later work comes after all that is queued on `streams` now. Made at the first
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
