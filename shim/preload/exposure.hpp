// Addresses that leave our sight: their blocks stay in device memory until they are freed.
//
// Thread safety: any thread.
#pragma once

#include "cuda_api.hpp"

namespace tessera::preload {

// True for an address of a running Tessera: all others are the driver's own business.
bool served(CUdeviceptr address);

// `reason` is a literal that the statistics show. Success for an address that is not served.
CUresult expose(CUdeviceptr address, const char* reason);

// The same for an operation queued on `stream`. On one that is being captured it makes a node of a
// graph, which holds the block whenever it runs.
CUresult expose_on(CUstream stream, CUdeviceptr address, const char* reason);

}  // namespace tessera::preload
