// The kernel launched by the driver contract suite.
//
// Thread safety: each element is written by one thread.
#include "softcuda_kernel.hpp"

extern "C" __global__ void churn(unsigned* data, unsigned count, unsigned rounds) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned value = data[i];
  for (unsigned round = 0; round < rounds; ++round) value = value * 1664525u + 1013904223u;
  data[i] = value;
}
TESSERA_KERNEL(churn)
