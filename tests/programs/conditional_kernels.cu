// Kernels that set the value of a conditional graph node.
//
// Empty under nvcc: cudaGraphSetConditional, which sets the value, belongs to the device runtime, and a stand-alone
// kernel object is not linked with that.
//
// Thread safety: each runs in one thread.
#include "softcuda_kernel.hpp"

#if !defined(__CUDACC__)

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

#endif
