// The blocks behind handles of ours: made, moved, copied to the driver's memory, and ended.
//
// Thread safety: any thread; mapped_memory.cpp holds the lock of the record that is passed.
#pragma once

#include <cstddef>

#include "cuda_api.hpp"
#include "mapped_table.hpp"

namespace tessera::preload {

inline constexpr std::size_t kGranule = TESSERA_MAPPABLE_PAGE;

// Whether a block can serve the request: nothing is asked for that only the driver has, and the driver accepts such
// requests here.
bool can_serve(const CUmemAllocationProp& wanted);

// Makes the block of a new handle. False: the driver has to serve the request.
bool create_block(std::size_t bytes, CUdevice device, tessera_address& block);
// Reserves addresses of the heap of the current device, which is `device` then. False: as above.
bool reserve_in_heap(std::size_t bytes, CUdeviceptr* address, CUdevice& device);

// Moves the block to reserved addresses, or to its own (0). CUDA_ERROR_NOT_SUPPORTED: it cannot be beside others there.
CUresult move_block(OurHandle& handle, tessera_address to);
// The block, and what is used with it, is not evicted until it is moved or destroyed.
void keep_on_device(const OurHandle& handle);
CUresult destroy_block(const OurHandle& handle, const char* call);
// Copies the block's bytes to the driver's handle.
CUresult copy_to(const OurHandle& handle, Handle real);

CUresult grant_access(CUdeviceptr address, std::size_t bytes, CUdevice device);

}  // namespace tessera::preload
