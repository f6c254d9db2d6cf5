// What a caller announces, and what the allocator keeps until the announcement ends.
//
// Thread safety: values; an AnnouncedUse belongs to one caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "api/device_heap.hpp"

namespace tessera {

// One announced use, from begin_use to end_use.
struct AnnouncedUse {
  struct Part {
    DeviceHeap* heap;
    std::vector<Run*> runs;
  };
  DeviceHeap* heap = nullptr;  // the device with the gate entered; null otherwise
  Use use;
  StreamId stream;
  std::vector<Part> held;       // blocking uses, and uses of several devices
  std::uint64_t gates = 0;      // for work that names no block: a bit per device with its gate entered
  bool refuses_strays = false;  // set by the caller: kNotFound for an address inside the heap but in no live block
};

// Words of which the first `certain` are addresses, and the next `likely` are if a block begins there. The others may
// be no addresses; earlier ones are preferred to later ones.
struct GradedAddresses {
  std::span<const Address> all;
  std::size_t certain = 0;
  std::size_t likely = 0;
};

}  // namespace tessera
