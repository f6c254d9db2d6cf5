// The hooks of PyTorch's graph pools: allocator._allocator.set_begin_allocate_to_pool(address),
// set_end_allocate_to_pool_fn and set_release_pool.
//
// Separate from torch_allocator.h because their types are C++ types: PyTorch calls them through pointers to functions
// of exactly these types, in the standard library's ABI, which has not changed for them since C++11.
//
// Thread safety: any thread.
#pragma once

#include "graph_pools.hpp"

extern "C" {

// Allocations for which `filter` returns true come from the pool until the matching end. A graph that holds the pool
// until tessera_torch_release_pool may follow.
TESSERA_API void tessera_torch_begin_pool(int device, tessera::torch::PoolId id, tessera::torch::StreamFilter filter);
TESSERA_API void tessera_torch_end_pool(int device, tessera::torch::PoolId id);
// Its blocks go back to Tessera at the next empty_cache, or when memory is short.
TESSERA_API void tessera_torch_release_pool(int device, tessera::torch::PoolId id);

}  // extern "C"
