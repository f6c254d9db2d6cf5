// Returns pinned host memory and unused spill space that other programs of the machine are entitled to
// (node_memory.hpp).
//
// Thread safety: one thread at a time, the pump's.
#pragma once

#include "api/device_heaps.hpp"
#include "api/lower_tiers.hpp"

namespace tessera {

class HostSharing {
 public:
  // REQUIRES: both outlive it.
  HostSharing(LowerTiers& lower, DeviceHeaps& heaps) : lower_(lower), heaps_(heaps) {}

  // Looks at what the others want, and returns what is theirs. What is in use may follow later.
  void look();

 private:
  LowerTiers& lower_;
  DeviceHeaps& heaps_;
};

}  // namespace tessera
