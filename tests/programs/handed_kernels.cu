// Kernels that pass addresses on through device memory: one writes them, later ones read them.
//
// Thread safety: one thread per element, unless stated otherwise.
#include "softcuda_kernel.hpp"

// Like the preparation of a grouped product: one thread stores the address of the weights in a table.
extern "C" __global__ void prepare(float** table, float* weights) { table[0] = weights; }
TESSERA_KERNEL(prepare)

// The product itself: its parameters include the table and the result, but not the weights.
extern "C" __global__ void product(float** table, float* result, int count) {
  const int thread = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const int threads = (int)(gridDim.x * blockDim.x);
  float sum = 0;
  for (int i = thread; i < count; i += threads) sum += table[0][i];
  result[thread] += sum;
}
TESSERA_KERNEL(product)

// Like an arange of addresses: a table of `count` entries, from one address and a step in bytes.
extern "C" __global__ void address_range(long long* table, long long first, long long step, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) table[i] = first + i * step;
}
TESSERA_KERNEL(address_range)

// Like a concatenation of two tables.
extern "C" __global__ void joined(long long* table, const long long* a, int count_a, const long long* b, int count_b) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count_a) {
    table[i] = a[i];
  } else if (i < count_a + count_b) {
    table[i] = b[i - count_a];
  }
}
TESSERA_KERNEL(joined)

extern "C" __global__ void add_to_all(int** table, int blocks, int count, int value) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  for (int k = 0; k < blocks; ++k) table[k][i] += value;
}
TESSERA_KERNEL(add_to_all)

struct Signal {
  volatile int running, go_on;
};

// One thread: signals that it is running, waits for the host, then adds to all blocks of the table.
extern "C" __global__ void add_to_all_when_told(struct Signal* signal, int** table, int blocks, int count, int value) {
  signal->running = 1;
  while (signal->go_on == 0) {
  }
  for (int k = 0; k < blocks; ++k) {
    for (int i = 0; i < count; ++i) table[k][i] += value;
  }
}
TESSERA_KERNEL(add_to_all_when_told)

extern "C" __global__ void add_to(int* target, int value, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) target[i] += value;
}
TESSERA_KERNEL(add_to)
