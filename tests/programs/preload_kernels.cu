// Kernels whose parameters hide addresses in different ways.
//
// Thread safety: each element is written by one thread.
#include "softcuda_kernel.hpp"

extern "C" __global__ void add_one(int* target, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) target[i] += 1;
}
TESSERA_KERNEL(add_one)

// Addresses inside a struct that is passed by value.
struct Lists {
  int count;
  int* targets[3];
  const int* source;
};
extern "C" __global__ void add_to_lists(struct Lists lists) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= lists.count) return;
  for (int list = 0; list < 3; ++list) lists.targets[list][i] += lists.source[i];
}
TESSERA_KERNEL(add_to_lists)
