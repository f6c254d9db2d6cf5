// Kernels that set the value of a conditional graph node.
//
// For a GPU cudaGraphSetConditional stays undefined in the kernel object: the driver resolves it when it loads the
// module.
//
// Thread safety: each runs in one thread.
#include "softcuda_kernel.hpp"

// Sets the value to a word in memory.
extern "C" __global__ void decide_by(cudaGraphConditionalHandle handle, const int* word) {
  cudaGraphSetConditional(handle, (unsigned)*word);
}
TESSERA_KERNEL(decide_by)

// Decrements a word in memory, and repeats until it is zero.
extern "C" __global__ void count_down(cudaGraphConditionalHandle handle, int* word) {
  *word -= 1;
  cudaGraphSetConditional(handle, *word > 0 ? 1U : 0U);
}
TESSERA_KERNEL(count_down)
