// Memory that a graph allocates for itself.
//
// On a GPU the driver reserves it at the graph's first launch, and keeps it. Here it exists from the creation of the
// node to the end of the last graph or executable with that node, so the address, which is known at node creation, is
// never reused in between.
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera::softcuda {

class Machine;
struct Context;

// Memory used by graphs on each device, in bytes.
struct GraphMemoryUse {
  std::atomic<std::uint64_t> now{0};
  std::atomic<std::uint64_t> high{0};
};
using GraphMemoryUses = std::array<GraphMemoryUse, 64>;

// Which memory of graphs is allocated: from a launch of its graph until that graph, another one or the program frees
// it.
class GraphAllocations {
 public:
  void add(Address address);
  void remove(Address address);
  bool is_allocated(Address address);
  void allocate(Address address);
  // Whether it was allocated; nothing if it is no graph's memory.
  std::optional<bool> free(Address address);

 private:
  Mutex mutex_{LockRank::kRegistry};
  std::map<Address, bool> allocated_ GUARDED_BY(mutex_);
};

class GraphMemory {
 public:
  // Errors: kOutOfMemory.
  static Result<std::shared_ptr<GraphMemory>> take(Machine& machine, Context& context, Bytes bytes);
  GraphMemory(Machine& machine, DeviceId device, Address address, Bytes bytes);
  // Waits for the device's work, which may use the memory.
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  DeviceId device() const { return device_; }
  Address address() const { return address_; }
  Bytes bytes() const { return bytes_; }

 private:
  Machine& machine_;
  const DeviceId device_;
  const Address address_;
  const Bytes bytes_;
};

}  // namespace tessera::softcuda
