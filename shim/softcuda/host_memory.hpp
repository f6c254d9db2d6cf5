// Pinned host memory: allocated for the program, or the program's own, registered. A child of fork shares what was
// allocated.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.hpp"
#include "ranges.hpp"
#include "sim/sim_driver.hpp"

namespace tessera::softcuda {

class HostMemory {
 public:
  // `bound`: on what may be pinned; 0: none.
  HostMemory(SimDriver& driver, Ranges& ranges, Bytes bound) : driver_(driver), ranges_(ranges), bound_(bound) {}

  // Errors of both: also kOutOfMemory beyond the bound.
  Result<void*> allocate(Context& context, Bytes bytes, unsigned flags);
  // Errors: kInvalidArgument unless `host` is a live allocation.
  Status free(void* host);
  // Errors of both: also kInvalidArgument for allocated memory.
  Status pin(Context& context, void* host, Bytes bytes, unsigned flags);
  Status unpin(void* host);

 private:
  Status register_within_bound(void* host, Bytes bytes);
  Status unregister(void* host, Bytes bytes);

  SimDriver& driver_;
  Ranges& ranges_;
  const Bytes bound_;
  std::atomic<std::uint64_t> pinned_{0};
};

}  // namespace tessera::softcuda
