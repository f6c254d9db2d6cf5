// Pinned host memory: allocated for the program, or the program's own, registered.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include "base/status.hpp"
#include "ranges.hpp"
#include "sim/sim_driver.hpp"

namespace tessera::softcuda {

class HostMemory {
 public:
  HostMemory(SimDriver& driver, Ranges& ranges) : driver_(driver), ranges_(ranges) {}

  Result<void*> allocate(Context& context, Bytes bytes, unsigned flags);
  // Errors: kInvalidArgument unless `host` is a live allocation.
  Status free(void* host);
  Status pin(Context& context, void* host, Bytes bytes, unsigned flags);
  Status unpin(void* host);

 private:
  SimDriver& driver_;
  Ranges& ranges_;
};

}  // namespace tessera::softcuda
