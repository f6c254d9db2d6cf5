// Kernels that wait for the host or for each other.
//
// Thread safety: the waiting kernels run in one thread; the others have one thread per element.
#include "softcuda_kernel.hpp"

extern "C" __global__ void fill(int* target, int value, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) target[i] = value;
}
TESSERA_KERNEL(fill)

extern "C" __global__ void await(volatile int* flag) {
  while (*flag == 0) {
  }
}
TESSERA_KERNEL(await)

// Like the kernels of a collective: each signals that it is running, and waits for the other one.
extern "C" __global__ void meet(volatile int* own, volatile int* other) {
  *own = 1;
  while (*other == 0) {
  }
}
TESSERA_KERNEL(meet)
