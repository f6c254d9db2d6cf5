// Streams that are being captured into a graph: what the graph holds may not move any more.
//
// Nothing is moved while a stream captures, since a copy or an unmapping then would be an unsafe
// call in the program's capture: blocks that are in device memory are exposed (they stay until they
// are freed); for one that is not, the captured call fails.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <span>

#include "cuda_api.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

// Costs one load until a program captures for the first time.
bool capturing(CUstream stream);

// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED when a block is not all in device memory. Words that name
// no live block are ignored.
CUresult expose_to_graph(tessera_allocator* allocator, std::span<const std::uint64_t> words);

}  // namespace tessera::preload
