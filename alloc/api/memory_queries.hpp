// Answers about memory: where the bytes of a block are, and how much there is to allocate.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <array>
#include <cstdint>

#include "api/device_heaps.hpp"
#include "api/lower_tiers.hpp"
#include "api/options.hpp"

namespace tessera {

class MemoryQueries {
 public:
  // REQUIRES: all of it outlives it.
  MemoryQueries(Driver& driver, DeviceHeaps& heaps, LowerTiers& lower, const Options& options)
      : driver_(driver), heaps_(heaps), lower_(lower), options_(options) {}

  struct Where {
    DeviceId device;
    BlockInfo block;
    std::array<Bytes, kLocations> tiers;  // as ResidencyFigures::whereabouts
    std::uint32_t pins = 0;
  };
  // Errors: kNotFound.
  Result<Where> where(Address address) const;
  // As cuMemGetInfo should report: what can be allocated before anything has to be evicted from the device, or with the
  // option "report-memory=virtual" before the heap is full. Builds a heap only in the latter case.
  Result<MemoryInfo> info(DeviceId device);
  // The same for an allocation from the driver itself, to which free memory is returned when it is short.
  Result<MemoryInfo> beside(DeviceId device);

 private:
  MemoryInfo enlarged(DeviceHeap& heap) const;

  Driver& driver_;
  DeviceHeaps& heaps_;
  LowerTiers& lower_;
  const Options& options_;
};

}  // namespace tessera
