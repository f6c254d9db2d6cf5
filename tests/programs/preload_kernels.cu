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

// As many addresses as the parameters of a busy framework hold.
extern "C" __global__ void sixteen(int* a, int* b, int* c, int* d, int* e, int* f, int* g, int* h,
                                   int* i, int* j, int* k, int* l, int* m, int* n, int* o, int* p) {
  if (a == b && c == d && e == f && g == h && i == j && k == l && m == n && o == p) a[0] = 1;
}
TESSERA_KERNEL(sixteen)
