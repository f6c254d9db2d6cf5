// Kernels that launch kernels (dynamic parallelism), on the software device.
//
// What a GPU's source writes as child<<<grid, block>>>(...) is softcuda::launch<child>(grid, block, ...)
// here. The child's grid runs at once, in the thread that launches it; CUDA promises only that it begins
// after that and is over before its parent's grid is. Its parameters pass no host.
//
// Not for sources with barriers: threads could not wait for one that runs a grid meanwhile. Children have
// no shared memory of a size that the launch gives.
//
// Thread safety: as a kernel's.
#pragma once

#include "softcuda_kernel.hpp"

#if defined(SOFTCUDA_BARRIERS)
#error "kernels with barriers launch no kernels here"
#endif

namespace softcuda {

template <auto child, class... Parameters>
void launch(dim3 grid, dim3 block, Parameters... parameters) {
  const dim3 own_grid = gridDim, own_block = blockDim, own_index = blockIdx, own_thread = threadIdx;
  void* const own_shared = dynamic_shared;
  const sim_block whole = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, {0, 0, 0}, nullptr};
  gridDim = grid;
  blockDim = block;
  dynamic_shared = nullptr;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        for_each_thread(whole, [&] { child(parameters...); });
      }
    }
  }
  gridDim = own_grid;
  blockDim = own_block;
  blockIdx = own_index;
  threadIdx = own_thread;
  dynamic_shared = own_shared;
}

}  // namespace softcuda
