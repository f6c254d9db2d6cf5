// The software machine of this process: the simulated devices, and the state behind the API.
//
// There is one machine, started by the first cuInit and never destroyed: threads may still call the driver while the
// process exits, after static destructors have run, and a real driver serves them too. After fork the child has no
// machine (its engine threads do not exist there), as with CUDA.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <memory>

#include "arrays.hpp"
#include "base/clock.hpp"
#include "base/status.hpp"
#include "capture.hpp"
#include "context.hpp"
#include "device_memory.hpp"
#include "environment.hpp"
#include "graph_memory.hpp"
#include "green_shares.hpp"
#include "host_memory.hpp"
#include "managed_advice.hpp"
#include "modules.hpp"
#include "pools.hpp"
#include "ranges.hpp"
#include "shared_devices.hpp"
#include "sim/sim_driver.hpp"
#include "streams.hpp"
#include "textures.hpp"
#include "user_objects.hpp"

namespace tessera::softcuda {

class Machine {
 public:
  // `shared`: null for devices of its own.
  Machine(const Environment& environment, std::unique_ptr<SharedDevices> shared);

  // Null before start() succeeded, in a forked child, and after its exit handler.
  static Machine* get();
  static CUresult start();
  // Whether the exit handler, which the first start() registers, has run.
  static bool has_ended();
  // The result of calls that find no machine.
  static CUresult without_machine();

  // Waits for the work of every device.
  Status finish_all();

  Environment environment;
  SteadyClock clock;
  const std::unique_ptr<SharedDevices> shared;  // may be null
  SimDriver driver;
  Contexts contexts;
  Ranges ranges;
  DeviceMemory memory;
  HostMemory host_memory;
  Arrays arrays;
  Textures textures;
  Streams streams;
  Modules modules;
  Pools pools;
  GreenShares green_shares;
  ManagedAdvice advice;
  GraphMemoryUses graph_memory;
  GraphAllocations graph_allocations;
  UserObjects user_objects;
  Graphs graphs;
  Captures captures;
};

}  // namespace tessera::softcuda
