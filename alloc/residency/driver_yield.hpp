// Yielding: device memory goes back to the driver for an allocation that Tessera does not serve: loaded code, local
// memory of a kernel, a context, memory from a pool or from cuMemCreate. Device and pinned host memory
// also go to other programs.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstdint>

#include "residency/locked_engine.hpp"

namespace tessera {

class DriverYield {
 public:
  // REQUIRES: it outlives this.
  explicit DriverYield(LockedEngine& locked) : locked_(locked) {}

  // Reduces what the device holds to `keep`, as far as that needs no move.
  Status trim_device(Bytes keep);
  // The driver lacks device memory for an allocation made elsewhere. Returns free memory to it and lowers the budget by
  // that amount until end(). If the driver then still has less than `wanted`, evicts runs until it has enough, unless
  // that cannot be reached. kUnknown: as much as a call of unknown size usually needs. kHalf: half of what there is.
  // Returns the bytes given back. Errors: the driver's, and kIo; end() is not needed then.
  static constexpr Bytes kUnknown{~std::uint64_t{0}}, kHalf{~std::uint64_t{0} - 1};
  Result<Bytes> begin(Bytes wanted);
  void end() { locked_.tiers.device.end_yield(); }
  // Of pages that are on the device too, or of no live block; waits for moves in flight, and for work up to `patience`.
  Status drop_host_copies();
  // Frees up to `bytes` of host memory, which other programs are entitled to: drops copies of pages that are on the
  // device, then spills pages to the file as far as it has room. Returns what is free now or soon.
  Result<Bytes> shed_host(Bytes bytes);

  // Other programs are entitled to what the device holds beyond `ceiling`: evicts up to `piece` of it, and returns free
  // memory to the driver. What is being evicted follows at a later call. Returns what is held beyond the ceiling and is
  // not on its way out. Errors: kOutOfMemory where nothing more can be evicted now; the driver's.
  Result<Bytes> shed_device(Bytes ceiling, Bytes piece);
  // The program may hold up to `ceiling` of the device, beside others.
  void set_ceiling(Bytes ceiling);
  // How fast evicted pages come back from the host, in bytes per second; 0 before it was measured.
  double in_rate();

 private:
  Status free_idle(Bytes bytes) REQUIRES_LOCK(locked_.mutex);
  Status evict_for_driver(Bytes wanted) REQUIRES_LOCK(locked_.mutex);

  LockedEngine& locked_;
};

}  // namespace tessera
