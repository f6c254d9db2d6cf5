// Copies of boxes and sets of rows: what cuMemcpy2D, cuMemcpy3D, cuMemset2D and graph nodes share.
//
// Thread safety: stateless.
#pragma once

#include "transfer.hpp"

namespace tessera::softcuda {

// A copy along a line, and one of a rectangle, as boxes.
CUDA_MEMCPY3D box_of(Place to, Place from, std::uint64_t bytes);
CUDA_MEMCPY3D box_of(const CUDA_MEMCPY2D& copy);
// Addresses say of which device they are.
CUDA_MEMCPY3D box_of(const CUDA_MEMCPY3D_PEER& copy);

// Errors: CUDA_ERROR_INVALID_VALUE for pitches too small, no memory at all, and what lies outside of an array,
// CUDA_ERROR_INVALID_HANDLE for no array.
CUresult check_box(const CUDA_MEMCPY3D& copy);
// Queues it row by row, or at once where the rows touch.
CUresult copy_box(Machine& machine, const CUDA_MEMCPY3D& copy, StreamId stream);

CUresult check_rows(const CUDA_MEMSET_NODE_PARAMS& fill);
CUresult set_rows(Machine& machine, const CUDA_MEMSET_NODE_PARAMS& fill, StreamId stream);

}  // namespace tessera::softcuda
