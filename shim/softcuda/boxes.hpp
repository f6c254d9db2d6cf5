// Box copies and row sets: the code shared by cuMemcpy2D, cuMemcpy3D, cuMemset2D and graph nodes.
//
// Thread safety: stateless.
#pragma once

#include <optional>

#include "transfer.hpp"

namespace tessera::softcuda {

// A linear copy, and the copy of a rectangle, as boxes.
CUDA_MEMCPY3D box_of(Place to, Place from, std::uint64_t bytes);
CUDA_MEMCPY3D box_of(const CUDA_MEMCPY2D& copy);
// The addresses determine the devices.
CUDA_MEMCPY3D box_of(const CUDA_MEMCPY3D_PEER& copy);

// Errors: CUDA_ERROR_INVALID_VALUE for a pitch that is too small, missing memory, and a box outside its array;
// CUDA_ERROR_INVALID_HANDLE for an unknown array.
CUresult check_box(const CUDA_MEMCPY3D& copy);
// Queues the copy row by row, or as a whole if the rows are contiguous.
CUresult copy_box(Machine& machine, const CUDA_MEMCPY3D& copy, StreamId stream);

// For a copy in a graph, whose ends are classified when it is added. Errors: CUDA_ERROR_INVALID_VALUE if not all of an
// end is memory; an end that is called host memory is not looked at.
CUresult check_memory(Machine& machine, const CUDA_MEMCPY3D& copy);
// The result of capturing the copy; nothing if it has to be queued instead. As check_memory, but an end of unknown kind
// is recorded as host memory where nothing is mapped.
std::optional<CUresult> capture_box(Machine& machine, CUDA_MEMCPY3D copy, StreamId stream);
// The same as copy_box for a copy in a graph. Errors: also CUDA_ERROR_INVALID_VALUE if an end was recorded as host
// memory and is an address of device memory.
CUresult copy_recorded_box(Machine& machine, const CUDA_MEMCPY3D& copy, StreamId stream);

CUresult check_rows(const CUDA_MEMSET_NODE_PARAMS& fill);
// As for a copy.
CUresult check_memory(Machine& machine, const CUDA_MEMSET_NODE_PARAMS& fill);
CUresult set_rows(Machine& machine, const CUDA_MEMSET_NODE_PARAMS& fill, StreamId stream);

}  // namespace tessera::softcuda
