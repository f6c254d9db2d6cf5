/* Kernels with addresses that only the device has made, over more memory than a small device holds.
 *
 * Usage: device_made KERNELS children|maps [pinned]. children: a kernel walks a list in memory and launches a kernel
 * for each block that it finds. maps: a kernel has stored tensor maps in memory, from where later kernels take them.
 * Between two such launches all other blocks are used, so that the hidden blocks have to be evicted; pinned: unless
 * Tessera, which must be present, was asked to keep them. At the end all numbers are compared. Prints "ok" or what
 * failed.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define MEANT 4
#define BLOCKS 12 /* the first MEANT are meant */
#define ROUNDS 4
#define BYTES (2 << 20)
#define NUMBERS sizeof(CUdeviceptr) /* where they begin in a block of the list */
#define COUNT ((BYTES - (int)NUMBERS) / (int)sizeof(int))

static CUdeviceptr block[BLOCKS], maps;
static CUmodule module;
static const unsigned grid = (COUNT + 255) / 256;

static void launch(const char* name, unsigned blocks, unsigned threads, void** parameters) {
  CUfunction function;
  CHECK(cuModuleGetFunction(&function, module, name));
  CHECK(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, NULL, parameters, NULL));
}

static void link_blocks(void) {
  CUdeviceptr next = 0;
  for (int i = MEANT; i-- > 0;) {
    void* parameters[] = {&block[i], &next};
    launch("put_in_front", 1, 1, parameters);
    next = block[i];
  }
}

static void by_children(void) {
  int count = COUNT;
  void* parameters[] = {&count};
  launch("add_by_children", 1, 1, parameters);
}

static void make_maps(void) {
  const cuuint64_t sizes[2] = {COUNT / 2, 2}, strides[1] = {COUNT / 2 * sizeof(int)};
  const cuuint32_t box[2] = {8, 1}, steps[2] = {1, 1};
  CHECK(cuMemAlloc(&maps, MEANT * sizeof(CUtensorMap)));
  for (int i = 0; i < MEANT; ++i) {
    CUtensorMap map;
    CUdeviceptr place = maps + (CUdeviceptr)i * sizeof(map);
    void* parameters[] = {&place, &map};
    memset(&map, 0, sizeof(map));
    CHECK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, (void*)(block[i] + NUMBERS * 2), sizes,
                                 strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                 CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    launch("put_map", 1, 1, parameters);
  }
}

static void by_maps(void) {
  int count = COUNT - 2;
  for (int i = 0; i < MEANT; ++i) {
    CUdeviceptr place = maps + (CUdeviceptr)i * sizeof(CUtensorMap);
    void* parameters[] = {&place, &count};
    launch("add_by_map_in_memory", grid, 256, parameters);
  }
}

static void use_the_others(void) {
  int count = COUNT;
  for (int i = MEANT; i < BLOCKS; ++i) {
    void* parameters[] = {&block[i], &count};
    launch("add_one", grid, 256, parameters);
  }
  CHECK(cuCtxSynchronize());
}

static int pin_blocks(void) {
  int (*shared)(void**);
  int (*pin)(void*, uint64_t);
  void* allocator;
  *(void**)&shared = dlsym(RTLD_DEFAULT, "tessera_shared");
  *(void**)&pin = dlsym(RTLD_DEFAULT, "tessera_pin");
  if (shared == NULL || pin == NULL || shared(&allocator) != 0) return 0;
  for (int i = 0; i < MEANT; ++i) {
    if (pin(allocator, block[i]) != 0) return 0;
  }
  return 1;
}

static int compare(int hidden, int count) {
  for (int i = 0; i < MEANT; ++i) {
    if (!block_holds(block[i] + (CUdeviceptr)hidden, count, i, i + ROUNDS)) return 1;
  }
  for (int i = MEANT; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, i + ROUNDS)) return 1;
  }
  puts("ok");
  return 0;
}

int main(int argc, char** argv) {
  CUcontext context;
  const int children = argc > 2 && strcmp(argv[2], "children") == 0;
  const int pinned = argc > 3 && strcmp(argv[3], "pinned") == 0;
  if (argc < 3 || argc > 4 || (!children && strcmp(argv[2], "maps") != 0)) {
    fprintf(stderr, "usage: device_made KERNELS children|maps [pinned]\n");
    return 2;
  }
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], BYTES));
    CHECK(cuMemsetD32(block[i], (unsigned)i, BYTES / sizeof(int)));
  }
  if (children) link_blocks();
  if (!children) make_maps();
  if (pinned && !pin_blocks()) {
    fprintf(stderr, "Tessera is not loaded, or does not pin\n");
    return 1;
  }
  for (int round = 0; round < ROUNDS; ++round) {
    use_the_others();
    children ? by_children() : by_maps();
    CHECK(cuCtxSynchronize());
  }
  return children ? compare(NUMBERS, COUNT) : compare(NUMBERS * 2, COUNT - 2);
}
