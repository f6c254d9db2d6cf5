// The kernel of vector_add.c.
//
// Thread safety: each element is written by one thread.
#include "softcuda_kernel.hpp"

extern "C" __global__ void vector_add(float* sum, const float* a, const float* b, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) sum[i] = a[i] + b[i];
}
TESSERA_KERNEL(vector_add)
