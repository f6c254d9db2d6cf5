// Kernels that launch kernels (dynamic parallelism), on the software device.
//
// child<<<grid, block>>>(...) in a GPU's source is written softcuda::launch<child>(grid, block, ...) here. The child's
// grid runs immediately, in the launching thread; CUDA only promises that it begins after the launch and ends before
// its parent's grid does. Its parameters do not pass through the host.
//
// Not for sources with barriers: threads could not wait for one that is running a child grid. Children have no
// dynamically sized shared memory.
//
// Thread safety: as for kernels.
#pragma once

#include "softcuda_kernel.hpp"

#if defined(SOFTCUDA_BARRIERS)
#error "kernels with barriers cannot launch kernels here"
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
