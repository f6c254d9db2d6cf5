// Memory that goes back to the driver: what is unused, and what the driver lacks for an allocation of its own.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include "api/device_heaps.hpp"
#include "api/lower_tiers.hpp"

namespace tessera {

class DriverMemory {
 public:
  // REQUIRES: both outlive it.
  DriverMemory(DeviceHeaps& heaps, LowerTiers& lower) : heaps_(heaps), lower_(lower) {}

  // Frees cached blocks, and returns all memory that is unused then.
  Status trim();
  // DriverYield::trim_device of the device; no effect where it has no heap yet.
  Status trim_device(DeviceId device, Bytes keep);
  // The same for `bytes` less than what is held now.
  Status trim_device_by(DeviceId device, Bytes bytes);
  // As DriverYield::begin, and returns unused memory lent to other devices; 0 where there is no heap. REQUIRES: an
  // end_yield for each that returned bytes.
  Result<Bytes> begin_yield(DeviceId device, Bytes wanted);
  void end_yield(DeviceId device);
  // The driver has no pinned host memory left for a call of the program: returns all that is unused here, after copies
  // that nothing needs were dropped. Returns the number of bytes.
  Result<Bytes> yield_host();
  // The program freed driver memory of its own, so the driver may have memory again. Cheap.
  void expect_more();

 private:
  DeviceHeaps& heaps_;
  LowerTiers& lower_;
};

}  // namespace tessera
