// Kernels with addresses that are stored outside the heap, in a module's global, or that lie outside their block, as a
// base before it.
//
// Thread safety: one thread per element.
#include "softcuda_kernel.hpp"

extern "C" {
__device__ int* targets[16];
}

extern "C" __global__ void add_to_targets(int used, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  for (int k = 0; i < count && k < used; ++k) targets[k][i] += 1;
}
TESSERA_KERNEL(add_to_targets)

extern "C" __global__ void add_from(int* base, long first, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) base[first + i] += 1;
}
TESSERA_KERNEL(add_from)

// An array with first index 1.
extern "C" __global__ void add_from_one(int* base, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) base[1 + i] += 1;
}
TESSERA_KERNEL(add_from_one)

extern "C" __global__ void add_to_table(int** table, int used, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  for (int k = 0; i < count && k < used; ++k) table[k][i] += 1;
}
TESSERA_KERNEL(add_to_table)
