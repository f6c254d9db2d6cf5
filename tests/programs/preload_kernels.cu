// Kernels with parameters that hide addresses in different ways.
//
// Thread safety: each element is written by one thread.
#include "softcuda_kernel.hpp"

#if !defined(__CUDACC__)
#include "softcuda_nested.hpp"
#include "softcuda_tensor_map.hpp"
#endif

extern "C" __global__ void add_one(int* target, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) target[i] += 1;
}
TESSERA_KERNEL(add_one)

// Addresses inside a struct passed by value.
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

// Structures of PyTorch's kernels, of which a launch fills only the first entries (shim/preload/partly_filled.hpp).
struct Inputs {
  const int* input[128];
  unsigned offset[128], size[128], elements[128];
  bool contiguous[128];
  unsigned strides[8];
};
extern "C" __global__ void CatArrayBatchedCopy_of_words(int* output, struct Inputs inputs) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < inputs.elements[blockIdx.y]) output[inputs.offset[blockIdx.y] + i] = inputs.input[blockIdx.y][i];
}
TESSERA_KERNEL(CatArrayBatchedCopy_of_words)

struct TensorLists {
  int* addresses[2][64];
  long long elements[64];
  unsigned char tensor_of_block[320];
  int part_of_block[320];
  int first;
};
extern "C" __global__ void multi_tensor_apply_kernel_18TensorListMetadataILi2E(struct TensorLists lists) {
  const int tensor = lists.tensor_of_block[blockIdx.x];
  const long long begin = (long long)lists.part_of_block[blockIdx.x] << 16;
  for (long long i = begin + threadIdx.x; i < begin + 65536 && i < lists.elements[tensor]; i += blockDim.x) {
    lists.addresses[0][tensor][i] += lists.addresses[1][tensor][i];
  }
}
TESSERA_KERNEL(multi_tensor_apply_kernel_18TensorListMetadataILi2E)

// No parameters at all.
extern "C" __global__ void nothing() {}
TESSERA_KERNEL(nothing)

// Numbers that look like low addresses: divisors as multiplication and shift, and strides.
struct Divider {
  unsigned divisor, multiplier, shift;
};
struct Calculator {
  int dims;
  struct Divider sizes[25];
  unsigned strides[25][2];
};
extern "C" __global__ void add_calculated(int* target, const int* source, struct Calculator calculator) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < calculator.dims) target[i] += source[i];
}
TESSERA_KERNEL(add_calculated)

// A scale and a count look like a low address, too.
struct Part {
  float scale;
  int count;
};
struct Scaled {
  int* target;
  struct Part parts[16];
};
extern "C" __global__ void add_scaled(struct Scaled scaled) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < scaled.parts[0].count) scaled.target[i] += 1;
}
TESSERA_KERNEL(add_scaled)

// As many addresses as a typical large framework kernel takes.
extern "C" __global__ void sixteen(int* a, int* b, int* c, int* d, int* e, int* f, int* g, int* h, int* i, int* j,
                                   int* k, int* l, int* m, int* n, int* o, int* p) {
  if (a == b && c == d && e == f && g == h && i == j && k == l && m == n && o == p) a[0] = 1;
}
TESSERA_KERNEL(sixteen)

// An address at an odd byte offset.
struct __attribute__((packed)) Packed {
  char before;
  int* target;
  char between[2];
  int count;
};
extern "C" __global__ void add_packed(struct Packed packed) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < packed.count) packed.target[i] += 1;
}
TESSERA_KERNEL(add_packed)

// The maximum parameter size: 32764 bytes.
struct Many {
  int used;
  int count;
  int* targets[4094];
};
extern "C" __global__ void add_to_many(struct Many many) {
  const int first = (int)(blockIdx.x * blockDim.x + threadIdx.x), step = (int)(gridDim.x * blockDim.x);
  for (int at = 4094 - many.used; at < 4094; ++at) {
    for (int i = first; i < many.count; i += step) many.targets[at][i] += 1;
  }
}
TESSERA_KERNEL(add_to_many)

// Addresses that no parameter shows: in a table in device memory, in a table of tables, in a global.
extern "C" __global__ void add_by_table(int** table, int used, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  for (int at = 0; at < used; ++at) table[at][i] += 1;
}
TESSERA_KERNEL(add_by_table)

extern "C" __global__ void add_by_tables(int*** tables, int used, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  for (int at = 0; at < used; ++at) tables[at][0][i] += 1;
}
TESSERA_KERNEL(add_by_tables)

extern "C" {
__device__ int* global_target;
}
extern "C" __global__ void add_to_global(int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) global_target[i] += 1;
}
TESSERA_KERNEL(add_to_global)

// Addresses that only kernels write: a list of blocks, with its head in a global.
struct Node {
  struct Node* next;
  int numbers[1];
};
extern "C" {
__device__ struct Node* list_head;
}
extern "C" __global__ void put_in_front(struct Node* node, struct Node* next) {
  if (blockIdx.x * blockDim.x + threadIdx.x != 0) return;
  node->next = next;
  list_head = node;
}
TESSERA_KERNEL(put_in_front)

extern "C" __global__ void add_to_list(struct Node* head, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  for (struct Node* node = head; node != 0; node = node->next) node->numbers[i] += 1;
}
TESSERA_KERNEL(add_to_list)

extern "C" __global__ void add_to_list_of_global(int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  for (struct Node* node = list_head; node != 0; node = node->next) node->numbers[i] += 1;
}
TESSERA_KERNEL(add_to_list_of_global)

// A kernel that keeps running while a queue in host memory is filled; one thread.
struct Queue {
  volatile int put;  // valid entries
  int* targets[64];
};
extern "C" __global__ void serve_queue(struct Queue* queue, int wanted, int count) {
  for (int served = 0; served < wanted;) {
    if (queue->put <= served) continue;
    int* const target = queue->targets[served++];
    for (int i = 0; i < count; ++i) target[i] += 1;
  }
}
TESSERA_KERNEL(serve_queue)

// A descriptor that shows no address, by value and in memory. A GPU's own tile copies need other code, which is not
// here.
#if !defined(__CUDACC__)
struct alignas(64) Map {
  uint64_t words[16];
};
extern "C" __global__ void add_by_map(Map map, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) reinterpret_cast<int*>(softcuda::tensor_address(map.words))[i] += 1;
}
TESSERA_KERNEL(add_by_map)

extern "C" __global__ void add_by_map_in_memory(const Map* map, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) reinterpret_cast<int*>(softcuda::tensor_address(map->words))[i] += 1;
}
TESSERA_KERNEL(add_by_map_in_memory)

// A descriptor written by the device.
extern "C" __global__ void put_map(Map* place, Map map) { *place = map; }
TESSERA_KERNEL(put_map)

// A kernel that launches kernels, with addresses that it finds in memory. On a GPU this needs device linking.
extern "C" __global__ void add_by_children(int count) {
  const dim3 grid = {(unsigned)(count + 255) / 256}, block = {256};
  for (struct Node* node = list_head; node != 0; node = node->next) {
    softcuda::launch<add_one>(grid, block, node->numbers, count);
  }
}
TESSERA_KERNEL(add_by_children)
#endif

// Pages of a cache, by their numbers, which are in memory.
extern "C" __global__ void add_to_pages(int* cache, const int* numbers, int pages, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  for (int page = 0; page < pages; ++page) cache[(long long)numbers[page] * count + i] += 1;
}
TESSERA_KERNEL(add_to_pages)
