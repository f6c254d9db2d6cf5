// Heaps of contexts that came before the primary one of their device.
//
// Why: a helper library makes a context of its own and allocates a little there, before the framework uses the primary
// one. Tessera manages one context of a device, and the framework's is the one that needs it. So the helper's
// heap retires: its blocks stay where they are, in device memory, and the driver serves all calls with them,
// but for the one that frees them, which it does not know.
//
// Thread safety: any thread. Until a heap retires all of it costs one load.
#pragma once

#include <atomic>

#include "cuda_api.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

namespace detail {
extern constinit std::atomic<bool> any_retired;
bool free_in_retired(CUdeviceptr address, CUresult& result);
}  // namespace detail

// From now on no block of `allocator` leaves device memory. REQUIRES: a context of its device is current.
// Errors: as tessera_wake; OUT_OF_MEMORY if they do not fit together, and then nothing has changed.
tessera_result keep_all_in(tessera_allocator* allocator);

// The heap of `context` is kept, until that ends.
void retire(tessera_allocator* allocator, CUcontext context);

// Frees the block at `address` if it is of a retired heap, as cuMemFree does: after all work that could use it.
inline bool free_if_retired(CUdeviceptr address, CUresult& result) {
  return detail::any_retired.load(std::memory_order_relaxed) && detail::free_in_retired(address, result);
}

// Before `context` ends.
void end_retired(CUcontext context);

}  // namespace tessera::preload
