// The device memory behind cuMemAlloc: whole frames for large requests, shared ones for small.
//
// A frame cannot be smaller than 2 MiB, so requests below half of one share a frame, cut in units of
// 512 bytes. Free and total memory stay what the simulated device says.
//
// Managed memory and that of pools of host memory are host frames, one for each allocation: the device reaches them by the
// same addresses as the host, and they do not count as memory of the device.
//
// Memory freed in stream order waits in a list until its stream has come that far, and is taken
// back by the next call that needs memory; no thread has to watch it.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <map>
#include <vector>

#include "base/extent_map.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "driver/sim_driver.hpp"
#include "ranges.hpp"

namespace tessera::softcuda {

struct MemoryKind {
  CUmemoryPool pool = nullptr;  // taken from this one, in order of a stream
  bool in_host_frame = false;
  bool managed = false;  // in a host frame too
};

class DeviceMemory {
 public:
  DeviceMemory(SimDriver& driver, Ranges& ranges);

  // Errors: kOutOfMemory when the device is full even after waiting for frees in stream order.
  // kNotSupported for a host frame on a machine without them.
  Result<Address> allocate(Context& context, Bytes bytes, MemoryKind kind);
  // Takes the memory back at once. REQUIRES: no queued work touches it.
  // Errors: kInvalidArgument unless `address` is one that allocate returned and still stands.
  Status free(Address address);
  // Takes it back when all work queued on `stream` so far has run.
  Status free_in_order(Address address, StreamId stream);
  // Memory without an address, which the driver takes for itself: contexts, code, local memory of kernels. None for 0
  // bytes. Errors: as allocate.
  Result<FrameId> hold(DeviceId device, Bytes bytes);
  Status let_go(FrameId frame);
  // What could be allocated now.
  Result<MemoryInfo> info(DeviceId device);
  // The most bytes that were allocated at once, of all devices together.
  Bytes peak();
  // Waits for all frees in stream order.
  Status settle();

 private:
  // A frame that small allocations share.
  struct Chunk {
    DeviceId device;
    FrameId frame;
    ExtentMap free;
  };
  struct Pending {
    Range range;
    EventId event;
  };

  Result<Address> take(DeviceId device, Bytes bytes, FrameLocation location) REQUIRES_LOCK(mutex_);
  Result<Address> take_small(DeviceId device, std::uint64_t units) REQUIRES_LOCK(mutex_);
  Result<Address> take_frame(DeviceId device, Bytes bytes, FrameLocation location, FrameId& frame);
  Status give(const Range& range) REQUIRES_LOCK(mutex_);
  Status give_frame(Address address, Bytes bytes, FrameId frame);
  // Takes back what is due; all of it if `wait`.
  Status collect(bool wait) REQUIRES_LOCK(mutex_);

  SimDriver& driver_;
  Ranges& ranges_;
  const Bytes granularity_;
  Mutex mutex_{LockRank::kResidency};
  std::map<Address, Chunk> chunks_ GUARDED_BY(mutex_);
  std::map<Address, FrameId> frames_ GUARDED_BY(mutex_);  // of allocations that share none
  std::vector<Pending> pending_ GUARDED_BY(mutex_);
  Bytes live_ GUARDED_BY(mutex_);  // as asked for, of the devices' own
  Bytes peak_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
