/* Kernels that access memory through addresses which are hard to see, over more memory than a small device holds.
 *
 * Usage: hidden_addresses KERNELS. Blocks of numbers are added to in turn, in a different way each time, so that each
 * launch finds its blocks evicted; at the end all numbers are compared. Prints "ok" or what failed.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define BLOCKS 24
#define COUNT (1 << 19)
#define MANY 4094
#define TABLE 3

static CUdeviceptr block[BLOCKS], table, tables, global;
static int expected[BLOCKS];
static CUfunction add_packed, add_to_many, add_by_table, add_by_tables, add_to_global, add_by_map, add_by_map_in_memory;
static CUstream stream;
static const unsigned grid = (COUNT + 255) / 256;

static void launch_on(unsigned blocks, CUfunction function, void** parameters, void** extra) {
  CHECK(cuLaunchKernel(function, blocks, 1, 1, 256, 1, 1, 0, stream, parameters, extra));
}

static void launch(CUfunction function, void** parameters, void** extra) {
  launch_on(grid, function, parameters, extra);
}

struct __attribute__((packed)) packed {
  char before;
  CUdeviceptr target;
  char between[2];
  int count;
};

static void by_packed_struct(int to) {
  struct packed packed = {1, block[to], {2, 3}, COUNT};
  void* parameters[] = {&packed};
  launch(add_packed, parameters, NULL);
  ++expected[to];
}

static void by_packed_buffer(int to) {
  struct packed packed = {1, block[to], {2, 3}, COUNT};
  size_t bytes = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  launch(add_packed, NULL, extra);
  ++expected[to];
}

/* The addresses are at the very end, so that earlier ones cannot stand in for them. */
static void by_many(int to) {
  static struct {
    int used, count;
    CUdeviceptr targets[MANY];
  } many;
  memset(&many, 0, sizeof(many));
  many.used = TABLE;
  many.count = COUNT;
  for (int i = 0; i < TABLE; ++i) {
    many.targets[MANY - TABLE + i] = block[(to + i) % BLOCKS];
    ++expected[(to + i) % BLOCKS];
  }
  void* parameters[] = {&many};
  launch_on(4, add_to_many, parameters, NULL);  // each thread of the software device copies 32 KiB of parameters
}

static void launch_by_table(CUdeviceptr with) {
  int used = TABLE, count = COUNT;
  void* parameters[] = {&with, &used, &count};
  launch(add_by_table, parameters, NULL);
}

static void fill_table(int to) {
  CUdeviceptr words[TABLE];
  for (int i = 0; i < TABLE; ++i) words[i] = block[(to + 5 * i) % BLOCKS];
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemcpyHtoD(table + 64, words, sizeof(words)));
}

static void expect_table(int to) {
  for (int i = 0; i < TABLE; ++i) ++expected[(to + 5 * i) % BLOCKS];
}

static void by_table(int to) {
  fill_table(to);
  launch_by_table(table + 64);
  expect_table(to);
}

/* The table is used again later, without being rewritten. */
static void by_old_table(int to) {
  fill_table(to);
  for (int i = 0; i < BLOCKS; ++i) by_packed_struct(i);
  launch_by_table(table + 64);
  expect_table(to);
}

/* A device-side copy of the table is a table too. */
static void by_copied_table(int to) {
  fill_table(to);
  CHECK(cuMemcpyDtoD(table + 512, table + 64, TABLE * sizeof(CUdeviceptr)));
  CHECK(cuMemsetD8(table + 64, 0, TABLE * sizeof(CUdeviceptr)));
  launch_by_table(table + 512);
  expect_table(to);
}

static void by_table_of_tables(int to) {
  int used = 1, count = COUNT;
  CUdeviceptr first;
  fill_table(to);
  first = table + 64;
  CHECK(cuMemcpyHtoD(tables, &first, sizeof(first)));
  void* parameters[] = {&tables, &used, &count};
  launch(add_by_tables, parameters, NULL);
  ++expected[to];
}

static void by_global(int to) {
  int count = COUNT;
  const int always = to / 9 % 2; /* what a global names stays on the device: few may */
  void* parameters[] = {&count};
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemcpyHtoD(global, &block[always], sizeof(block[always])));
  launch(add_to_global, parameters, NULL);
  ++expected[always];
}

/* Uses each kind of map encoding in turn. */
static CUtensorMap map_of(CUdeviceptr tensor) {
  static int made = 0;
  CUtensorMap map;
  const cuuint64_t sizes[] = {1024, 256}, strides[] = {4096};
  const cuuint64_t image[] = {64, 64, 64}, image_strides[] = {256, 16384};
  const cuuint32_t box[] = {32, 8}, steps[] = {1, 1, 1};
  const int lower[] = {-1}, upper[] = {1};
  switch (made++ % 3) {
    case 0:
      CHECK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, (void*)tensor, sizes, strides, box, steps,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
      break;
    case 1:
      CHECK(cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 3, (void*)tensor, image, image_strides, lower,
                                    upper, 64, 64, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                    CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
      break;
    default:
      CHECK(cuTensorMapEncodeIm2colWide(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 3, (void*)tensor, image, image_strides, -1,
                                        1, 64, 64, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                        CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, CU_TENSOR_MAP_SWIZZLE_128B,
                                        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  }
  return map;
}

static void by_tensor_map(int to) {
  CUtensorMap map = map_of(block[(to + 1) % BLOCKS]);
  int count = COUNT;
  void* parameters[] = {&map, &count};
  CHECK(cuTensorMapReplaceAddress(&map, (void*)block[to]));
  for (int i = 1; i < BLOCKS; ++i) by_packed_struct((to + i) % BLOCKS);
  launch(add_by_map, parameters, NULL);
  ++expected[to];
}

static void by_tensor_map_in_memory(int to) {
  const CUtensorMap map = map_of(block[to]);
  const CUdeviceptr place = table + 1024;
  int count = COUNT;
  void* parameters[] = {(void*)&place, &count};
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemcpyHtoD(place, &map, sizeof(map)));
  for (int i = 1; i < BLOCKS; ++i) by_packed_struct((to + i) % BLOCKS);
  launch(add_by_map_in_memory, parameters, NULL);
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemsetD8(place, 0, sizeof(map)));
  ++expected[to];
}

static void (*const ways[])(int) = {by_packed_struct, by_packed_buffer,       by_many,   by_table,
                                    by_old_table,     by_copied_table,        by_global, by_table_of_tables,
                                    by_tensor_map,    by_tensor_map_in_memory};
#define WAYS (int)(sizeof(ways) / sizeof(ways[0]))
#define MAP_WAYS 2 /* the last ones */
static int used_ways = WAYS;

/* Only the software device has kernels that take an address out of a tensor map. */
static void load_map_kernels(CUmodule module) {
  const CUresult found = cuModuleGetFunction(&add_by_map, module, "add_by_map");
  if (found == CUDA_ERROR_NOT_FOUND) {
    fprintf(stderr, "left out: tensor maps, as the kernels have no add_by_map\n");
    used_ways = WAYS - MAP_WAYS;
    return;
  }
  CHECK(found);
  CHECK(cuModuleGetFunction(&add_by_map_in_memory, module, "add_by_map_in_memory"));
}

static void load(const char* file) {
  CUmodule module;
  size_t bytes;
  CHECK(cuModuleLoad(&module, file));
  CHECK(cuModuleGetFunction(&add_packed, module, "add_packed"));
  CHECK(cuModuleGetFunction(&add_to_many, module, "add_to_many"));
  CHECK(cuModuleGetFunction(&add_by_table, module, "add_by_table"));
  CHECK(cuModuleGetFunction(&add_by_tables, module, "add_by_tables"));
  CHECK(cuModuleGetFunction(&add_to_global, module, "add_to_global"));
  load_map_kernels(module);
  CHECK(cuModuleGetGlobal(&global, &bytes, module, "global_target"));
}

static int compare(int* host) {
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemcpyDtoH(host, block[i], COUNT * sizeof(int)));
    for (int n = 0; n < COUNT; ++n) {
      if (host[n] == expected[i]) continue;
      fprintf(stderr, "block %d, number %d: %d, not %d\n", i, n, host[n], expected[i]);
      return 1;
    }
  }
  puts("ok");
  return 0;
}

int main(int argc, char** argv) {
  CUcontext context;
  if (argc != 2) {
    fprintf(stderr, "usage: hidden_addresses KERNELS\n");
    return 2;
  }
  open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  load(argv[1]);
  CHECK(cuMemAlloc(&table, 4096));
  CHECK(cuMemAlloc(&tables, 4096));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    expected[i] = i;
    CHECK(cuMemsetD32(block[i], (unsigned)i, COUNT));
  }
  for (int round = 0; round < 3 * used_ways; ++round) ways[round % used_ways](7 * round % BLOCKS);
  CHECK(cuStreamSynchronize(stream));
  int* const words = malloc(COUNT * sizeof(int));
  const int result = compare(words);
  free(words);
  return result;
}
