// Pinned host memory of the program that Tessera serves: blocks of its host budget (tessera/host.h).
//
// They are pinned in the context of the first call, which has to be a primary one, and only calls in that context are
// served: what was allocated in a context ends with it. All other calls, and those for write-combined memory, during a
// capture, or beyond the budget, are the driver's.
//
// Freeing waits for all queued work, as the driver's call does, so a block that is used again has no users left. Where
// it cannot wait (during a capture, or if another context has failed), the block is set aside until a later call could.
//
// Thread safety: any thread. For an address outside of all blocks, every function costs two loads.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda_api.hpp"
#include "tessera/host.h"

namespace tessera::preload {

namespace detail {
// Empty while there are no blocks. Addresses are constant from the first block to the end of its context. The end is
// published last.
extern constinit std::atomic<std::uintptr_t> host_low;
extern constinit std::atomic<std::uintptr_t> host_high;
}  // namespace detail

// Whether the address is in the range of blocks, in a live one or not.
inline bool in_host_blocks(std::uintptr_t address) {
  return address < detail::host_high.load(std::memory_order_acquire) &&
         address >= detail::host_low.load(std::memory_order_relaxed);
}
inline bool in_host_blocks(const void* address) { return in_host_blocks(reinterpret_cast<std::uintptr_t>(address)); }

// Allocates a block. False if the driver has to serve the call, and to report its error if there is one.
bool serve_host_block(void** host, std::size_t bytes, unsigned flags, const void* caller);

// Frees the block at `host`, as cuMemFreeHost does. REQUIRES: in_host_blocks(host).
CUresult free_host_block(void* host);

// The live block that contains the address. `mark` is the flags of its call. REQUIRES: in_host_blocks(address).
bool find_host_block(std::uintptr_t address, tessera_host_info& block);

// CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of a live block: the driver knows it of whole chunks only.
void set_host_block_synchronous(const tessera_host_info& block, bool synchronous);
bool is_host_block_synchronous(const tessera_host_info& block);

// Whether there may be blocks: their allocator cannot be replaced by another one.
bool has_host_blocks();

// In a child of fork, where no call is served.
void forget_host_blocks();

// Before `context` ends; `allocator` is the one that served it, or null.
void end_host_blocks(CUcontext context, tessera_allocator* allocator);

}  // namespace tessera::preload
