// Heaps of contexts that were used before the primary contexts of their devices.
//
// Why: a helper library may create contexts of its own and allocate a little in them before the framework uses a
// primary context. Tessera manages one context per device, and the framework's is the one that needs it. So the
// helper's heaps are retired together: their blocks stay in device memory, and the driver serves all calls that use
// them, except frees, as the driver does not know the blocks.
//
// Thread safety: any thread. Until a heap is retired, every function costs one load.
#pragma once

#include <atomic>
#include <vector>

#include "cuda_api.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

namespace detail {
extern constinit std::atomic<bool> any_retired;
bool free_in_retired(CUdeviceptr address, CUresult& result);
}  // namespace detail

// From now on no block of `allocator` is evicted. REQUIRES: a context of its device is current. Errors: as
// tessera_wake; OUT_OF_MEMORY if the blocks do not fit together, in which case nothing has changed.
tessera_result keep_all_in(tessera_allocator* allocator);

struct RetiredContext {
  CUdevice device;
  CUcontext context;
};

// Keeps the heaps of `contexts`, each until its context ends.
void retire(tessera_allocator* allocator, std::vector<RetiredContext> contexts);

// Frees the block at `address` if it is in a retired heap, as cuMemFree does: after all work that may use it.
inline bool free_if_retired(CUdeviceptr address, CUresult& result) {
  return detail::any_retired.load(std::memory_order_relaxed) && detail::free_in_retired(address, result);
}

// Before `context` ends.
void end_retired(CUcontext context);

}  // namespace tessera::preload
