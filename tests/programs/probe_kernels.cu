// Probe kernels for tests: each makes one aspect of the device's execution visible.
//
// Thread safety: one thread each, unless stated otherwise.
#include "softcuda_kernel.hpp"

// Runs until the host sets *go, in pinned memory: work queued after it cannot have run before.
extern "C" __global__ void hold(const volatile int* go) {
  while (*go == 0) {
  }
}
TESSERA_KERNEL(hold)

extern "C" __global__ void add_to(int* target, int value, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) target[i] += value;
}
TESSERA_KERNEL(add_to)

// Parameters of every size, to query their offsets.
struct Mixed {
  char tag;
  double weight;
};
extern "C" __global__ void mixed(char a, double* out, short b, struct Mixed c, int d) {
  out[0] = a + b + c.tag + c.weight + d;
}
TESSERA_KERNEL(mixed)

// The position of every thread as one number: z, y, x of the block and z, y, x within it.
extern "C" __global__ void place(int* out) {
  const int block = (int)((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
  const int thread = (int)((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
  const int threads = (int)(blockDim.x * blockDim.y * blockDim.z);
  out[block * threads + thread] = block * 1000 + thread;
}
TESSERA_KERNEL(place)

#if defined(__CUDACC__)
extern "C" __device__ int counter = 7;
#else
extern "C" __attribute__((visibility("default"))) int counter;
int counter = 7;
#endif
extern "C" __global__ void count_up() { counter = counter + 1; }
TESSERA_KERNEL(count_up)
