// The device memory behind cuMemAlloc: whole frames for large requests, shared frames for small ones.
//
// A frame cannot be smaller than 2 MiB, so requests below half of that share a frame, split in units of 512 bytes. Free
// and total memory are those of the simulated device.
//
// Managed memory and memory of host pools use host frames, one for each allocation: the device accesses them at the
// same addresses as the host, and they do not count as device memory.
//
// Memory freed in stream order is kept in a list until its stream has reached the free, and is reclaimed by the next
// call that needs memory; no thread has to watch it.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <map>
#include <vector>

#include "base/extent_map.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "ranges.hpp"
#include "sim/sim_driver.hpp"
#include "sim/sim_frames.hpp"

namespace tessera::softcuda {

struct MemoryKind {
  CUmemoryPool pool = nullptr;  // allocated from this pool, in stream order
  bool in_host_frame = false;
  bool managed = false;    // in a host frame too
  bool shareable = false;  // has a frame of its own
  bool counted = false;    // in the amounts of the pool
  Bytes limit = {};        // of what is counted; 0: none
};

class DeviceMemory {
 public:
  DeviceMemory(SimDriver& driver, Ranges& ranges);

  // Errors: kOutOfMemory if the device is full even after waiting for stream-ordered frees, or the pool is;
  // kNotSupported for a host frame on a machine without them.
  Result<Address> allocate(Context& context, Bytes bytes, MemoryKind kind);
  // Maps memory of another process, from the file with all frames of that process. It counts as used there, not here.
  Result<Address> adopt(Context& context, int file, const SimPlace& place, Bytes bytes, CUmemoryPool pool);
  // Releases the memory at once. REQUIRES: no queued work touches it.
  // Errors: kInvalidArgument unless `address` is the address of a live allocation.
  Status free(Address address);
  // Frees when all work queued on `stream` so far has run.
  Status free_in_order(Address address, StreamId stream);
  // Memory without an address, for the driver's own use: contexts, code, local memory of kernels. None for 0 bytes.
  // Errors: as for allocate.
  Result<FrameId> hold(DeviceId device, Bytes bytes);
  Status let_go(FrameId frame);
  // The memory that could be allocated now.
  Result<MemoryInfo> info(DeviceId device);
  // The maximum of bytes allocated at the same time, over all devices together.
  Bytes peak();
  // Waits for all stream-ordered frees.
  Status settle();

 private:
  // A frame shared by small allocations.
  struct Chunk {
    DeviceId device;
    FrameId frame;
    ExtentMap free;
  };
  struct Pending {
    Range range;
    EventId event;
  };

  Result<Address> take(DeviceId device, Bytes bytes, const MemoryKind& kind) REQUIRES_LOCK(mutex_);
  Result<Address> take_small(DeviceId device, std::uint64_t units) REQUIRES_LOCK(mutex_);
  Result<Address> take_frame(DeviceId device, Bytes bytes, FrameLocation location, FrameId& frame);
  // Releases the frame if it cannot be mapped.
  Result<Address> map_frame(DeviceId device, Bytes bytes, FrameId frame);
  Status give(const Range& range) REQUIRES_LOCK(mutex_);
  Status give_frame(Address address, Bytes bytes, FrameId frame);
  // Reclaims memory that is due; with `wait`, all of it.
  Status collect(bool wait) REQUIRES_LOCK(mutex_);

  SimDriver& driver_;
  Ranges& ranges_;
  const Bytes granularity_;
  Mutex mutex_{LockRank::kResidency};
  std::map<Address, Chunk> chunks_ GUARDED_BY(mutex_);
  std::map<Address, FrameId> frames_ GUARDED_BY(mutex_);  // of allocations with their own frame
  std::vector<Pending> pending_ GUARDED_BY(mutex_);
  Bytes live_ GUARDED_BY(mutex_);  // requested sizes, device memory only
  Bytes peak_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
