// What a caller announces, and what the allocator keeps of it until the announcement ends.
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
  DeviceHeap* heap = nullptr;  // where the gate is open for us; null otherwise
  Use use;
  StreamId stream;
  std::vector<Part> held;      // blocking uses, and uses of several devices
  std::uint64_t gates = 0;     // of work that names no block: a bit per device whose gate it is in
  bool refuses_strays = false;  // set before: kNotFound where an address is ours, but in no live block
};

// Words of which the first `certain` are addresses; the next `likely` are so where a block begins there. The
// others may be none, those in front sooner than those behind.
struct GradedAddresses {
  std::span<const Address> all;
  std::size_t certain = 0;
  std::size_t likely = 0;
};

}  // namespace tessera
