/* Overwrites a table of addresses row by row, and uses it: blocks that it named before are no longer needed.
 *
 * Usage: table_rows KERNELS. Together the blocks are more than a small device holds. Table entries between the written
 * rows stay, and a captured write has overwritten nothing. At the end all numbers are compared. Prints "ok" or what
 * failed.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define BLOCKS 6
#define COUNT (1 << 19)

static CUdeviceptr block[BLOCKS], table;
static int expected[BLOCKS];
static CUfunction add_one, add_by_table;

static void launch(CUfunction function, void** parameters) {
  CHECK(cuLaunchKernel(function, COUNT / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
  CHECK(cuCtxSynchronize());
}

static void use(CUdeviceptr at, int count) {
  void* parameters[] = {&at, &count};
  launch(add_one, parameters);
}

/* The other blocks are used, so the table's blocks have been evicted from a small device. */
static void use_by_table(CUdeviceptr at, int first, int used) {
  int count = COUNT;
  void* parameters[] = {&at, &used, &count};
  for (int i = 0; i < BLOCKS; ++i) {
    if (i < first || i >= first + used) {
      use(block[i], COUNT);
      ++expected[i];
    }
  }
  launch(add_by_table, parameters);
  for (int i = first; i < first + used; ++i) ++expected[i];
}

static void by_set(void) { CHECK(cuMemsetD2D8(table, 16, 0, 16, sizeof(block) / 16)); }

static void by_copy_of_rows(void) {
  static const char zeros[sizeof(block)];
  CUDA_MEMCPY2D copy;
  memset(&copy, 0, sizeof(copy));
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = zeros;
  copy.srcPitch = 16;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = table;
  copy.dstPitch = 16;
  copy.WidthInBytes = 16;
  copy.Height = sizeof(block) / 16;
  CHECK(cuMemcpy2D(&copy));
}

static void by_copy_of_slices(void) {
  static const char zeros[sizeof(block)];
  CUDA_MEMCPY3D copy;
  memset(&copy, 0, sizeof(copy));
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = zeros;
  copy.srcPitch = 8;
  copy.srcHeight = 2;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = table;
  copy.dstPitch = 8;
  copy.dstHeight = 2;
  copy.WidthInBytes = 8;
  copy.Height = 2;
  copy.Depth = sizeof(block) / 16;
  CHECK(cuMemcpy3D(&copy));
}

static void between_rows(void) {
  const CUdeviceptr words[] = {0, block[1], 0};
  CHECK(cuMemcpyHtoD(table, words, sizeof(words)));
  CHECK(cuMemsetD2D8(table, 16, 0, 8, 2));
  use_by_table(table + 8, 1, 1);
}

static void captured(void) {
  CUstream stream;
  CUgraph graph;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemcpyHtoD(table, block, 2 * sizeof(block[0])));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cuMemsetD8Async(table, 0, 2 * sizeof(block[0]), stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphDestroy(graph));
  use_by_table(table, 0, 2);
  CHECK(cuStreamDestroy(stream));
}

int main(int argc, char** argv) {
  static void (*const ways[])(void) = {by_set, by_copy_of_rows, by_copy_of_slices};
  CUcontext context;
  CUmodule module;
  if (argc != 2) {
    fprintf(stderr, "usage: table_rows KERNELS\n");
    return 2;
  }
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  CHECK(cuModuleGetFunction(&add_by_table, module, "add_by_table"));
  CHECK(cuMemAlloc(&table, 1 << 16));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[i], 0, COUNT));
  }
  for (int way = 0; way < 3; ++way) {
    CHECK(cuMemcpyHtoD(table, block, sizeof(block)));
    ways[way]();
    use(table, 0);
  }
  between_rows();
  captured();
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, expected[i])) return 1;
  }
  puts("ok");
  return 0;
}
