/* A small table of addresses in a block with other small tensors, as frameworks cut them out of segments of 2 MiB: a
 * kernel that uses one of the others needs none of the blocks that the table names, a kernel that uses the table needs
 * all.
 *
 * Usage: shared_segment KERNELS [before]. The table names blocks that do not fit in a small device together; with
 * `before`, the other tensors lie before the table. A part of the table is used, the table is overwritten by a kernel,
 * and blocks that it named are freed. At the end all numbers are compared. Prints "ok" or what failed.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 20)
#define SEGMENT (2 << 20)
#define SMALL 64
#define PART 2

static CUdeviceptr block[BLOCKS], segment;
static int expected[BLOCKS];
static CUfunction add_one, add_by_table;

static void launch(CUfunction function, int threads, void** parameters) {
  CHECK(cuLaunchKernel(function, (unsigned)(threads + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
  CHECK(cuCtxSynchronize());
}

static void add(CUdeviceptr at, int count) {
  void* parameters[] = {&at, &count};
  launch(add_one, count, parameters);
}

static void add_to_part(CUdeviceptr table) {
  int used = PART, count = COUNT;
  void* parameters[] = {&table, &used, &count};
  launch(add_by_table, COUNT, parameters);
}

int main(int argc, char** argv) {
  CUcontext context;
  CUmodule module;
  int small = 0;
  if (argc != 2 && argc != 3) {
    fprintf(stderr, "usage: shared_segment KERNELS [before]\n");
    return 2;
  }
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  CHECK(cuModuleGetFunction(&add_by_table, module, "add_by_table"));
  CHECK(cuMemAlloc(&segment, SEGMENT));
  CHECK(cuMemsetD8(segment, 0, SEGMENT));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[i], (unsigned)i, COUNT));
    expected[i] = i;
  }
  const CUdeviceptr table = segment + SEGMENT / 2;
  const CUdeviceptr other = argc == 3 ? segment + 4096 : segment + SEGMENT - 4096;

  /* All of them, while kernels use other tensors. */
  CHECK(cuMemcpyHtoD(table, block, sizeof(block)));
  for (int round = 0; round < 3; ++round, ++small) add(other, SMALL);
  for (int i = 0; i < BLOCKS; ++i, ++expected[i - 1]) add(block[i], COUNT);

  /* Two of them, repeatedly; in between the device is full of others. */
  CHECK(cuMemcpyHtoD(table, block, PART * sizeof(block[0])));
  CHECK(cuMemsetD8(table + PART * sizeof(block[0]), 0, (BLOCKS - PART) * sizeof(block[0])));
  for (int round = 0; round < 3; ++round) {
    add_to_part(table);
    for (int i = 0; i < PART; ++i) ++expected[i];
    for (int i = PART; i < BLOCKS; ++i, ++expected[i - 1]) add(block[i], COUNT);
  }

  /* A larger tensor replaces the table, and a kernel writes it. A kernel that uses a part of the tensor needs no
   * blocks. */
  CHECK(cuMemcpyHtoD(table, block, sizeof(block)));
  add(table - 4096, (int)(4096 + sizeof(block)) / (int)sizeof(int));
  add(table, (int)sizeof(block) / (int)sizeof(int));

  /* A freed block is no longer named, even if its address serves another block. */
  CHECK(cuMemcpyHtoD(table, block, sizeof(block)));
  CHECK(cuMemFree(block[0]));
  CHECK(cuMemAlloc(&block[0], COUNT * sizeof(int)));
  CHECK(cuMemsetD32(block[0], 7, COUNT));
  expected[0] = 7;
  add(other, SMALL);
  ++small;
  if (!block_holds(other, SMALL, BLOCKS, small)) return 1;
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, expected[i])) return 1;
  }
  puts("ok");
  return 0;
}
