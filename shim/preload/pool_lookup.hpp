// Which pool a handle means, and whether its blocks are ours: what the driver has to be asked for beside the table of
// pools (program_pools.hpp).
//
// Thread safety: any thread.
#pragma once

#include "cuda_api.hpp"
#include "program_pools.hpp"

namespace tessera::preload {

// A pool as an allocation in the current context sees it.
struct PoolHere {
  bool is_ours = false;         // the heap serves it
  ProgramPool* pool = nullptr;  // null also if it is ours, but the driver does not name the current pool
};

// Not ours if the pool is of another device than the current one.
PoolHere pool_here(CUmemoryPool handle);
// The current device's current pool. If the driver cannot be queried, there is only the default pool.
PoolHere current_pool();

// A pool that is or was ours, on any device; null for others.
ProgramPool* known_pool(CUmemoryPool handle);

}  // namespace tessera::preload
