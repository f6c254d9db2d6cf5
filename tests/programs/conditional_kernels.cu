// Kernels that decide what a graph does next.
//
// Nothing under nvcc: what a conditional node is told by, cudaGraphSetConditional, is of the device
// runtime, which a kernel object by itself is not linked with.
//
// Thread safety: one thread each.
#include "softcuda_kernel.hpp"

#if !defined(__CUDACC__)

// The value becomes what stands in memory.
extern "C" __global__ void decide_by(cudaGraphConditionalHandle handle, const int* word) {
  cudaGraphSetConditional(handle, (unsigned)*word);
}
TESSERA_KERNEL(decide_by)

// As often as stands in memory.
extern "C" __global__ void count_down(cudaGraphConditionalHandle handle, int* word) {
  *word -= 1;
  cudaGraphSetConditional(handle, *word > 0 ? 1U : 0U);
}
TESSERA_KERNEL(count_down)

#endif
