/* Kernels that use more memory at once than a small device has.
 *
 * Usage: oversized KERNELS block|blocks|graph|later MIB
 * block   one block, all of which a kernel uses
 * blocks  sixteen blocks, all of which a kernel uses
 * graph   the block in a node of a graph
 * later   as block; then the block ends, and another, half as large, is used where it was
 * Blocks are filled by copies of pieces, used several times with a small block beside them, and read back. MIB is the
 * memory that is used at once. Prints "ok" if every number is right.
 *
 * Thread safety: one thread.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define MIB ((size_t)1 << 20)

/* FEW: each thread of the software device copies 32 KiB of parameters. */
enum { ROUNDS = 3, MANY = 16, SMALL = 1 << 18, FEW = 64 };

struct many {
  int used, count;
  int* targets[4094]; /* the last ones are used */
};

static CUmodule module;

static int count_of(size_t bytes) { return (int)(bytes / sizeof(int)); }

/* Each mebibyte begins with its own number, and holds it throughout. */
static void fill(CUdeviceptr block, size_t bytes, int first) {
  int* const numbers = malloc(MIB);
  for (size_t at = 0; at < bytes; at += MIB) {
    for (int i = 0; i < count_of(MIB); ++i) numbers[i] = first + (int)(at / MIB);
    CHECK(cuMemcpyHtoD(block + at, numbers, MIB));
  }
  free(numbers);
}

static int holds(CUdeviceptr block, size_t bytes, int first) {
  for (size_t at = 0; at < bytes; at += MIB) {
    if (!block_holds(block + at, count_of(MIB), (int)(at / MIB), first + (int)(at / MIB))) return 0;
  }
  return 1;
}

static void add_one(CUdeviceptr target, int count) {
  void* parameters[] = {&target, &count};
  CHECK(launch_threads(module, "add_one", count, NULL, parameters));
}

static int use_block(size_t bytes) {
  CUdeviceptr block;
  const CUdeviceptr small = zeroed(SMALL * sizeof(int), NULL);
  CHECK(cuMemAlloc(&block, bytes));
  fill(block, bytes, 7);
  for (int round = 0; round < ROUNDS; ++round) {
    add_one(block, count_of(bytes));
    add_one(small, SMALL);
  }
  const int right = holds(block, bytes, 7 + ROUNDS) && block_holds(small, SMALL, 0, ROUNDS);
  CHECK(cuMemFree(block));
  CHECK(cuMemFree(small));
  return right;
}

static int use_blocks(size_t bytes) {
  const size_t each = bytes / MANY;
  struct many* const all = calloc(1, sizeof(*all));
  all->used = MANY;
  all->count = count_of(each);
  CUdeviceptr blocks[MANY];
  for (int i = 0; i < MANY; ++i) {
    CHECK(cuMemAlloc(&blocks[i], each));
    fill(blocks[i], each, 100 * i);
    all->targets[4094 - MANY + i] = (int*)blocks[i];
  }
  void* parameters[] = {all};
  for (int round = 0; round < ROUNDS; ++round) {
    CHECK(launch_threads(module, "add_to_many", FEW, NULL, parameters));
  }
  int right = 1;
  for (int i = 0; i < MANY; ++i) {
    right = holds(blocks[i], each, 100 * i + ROUNDS) && right;
    CHECK(cuMemFree(blocks[i]));
  }
  free(all);
  return right;
}

static int use_in_graph(size_t bytes) {
  CUgraph graph;
  CUgraphNode node;
  CUgraphExec exec;
  CUDA_KERNEL_NODE_PARAMS kernel;
  CUdeviceptr block;
  int count = count_of(bytes);
  CHECK(cuMemAlloc(&block, bytes));
  fill(block, bytes, 7);
  void* parameters[] = {&block, &count};
  memset(&kernel, 0, sizeof(kernel));
  CHECK(cuModuleGetFunction(&kernel.func, module, "add_one"));
  kernel.gridDimX = (unsigned)count / 256;
  kernel.blockDimX = 256;
  kernel.gridDimY = kernel.gridDimZ = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = parameters;
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddKernelNode(&node, graph, NULL, 0, &kernel));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int round = 0; round < ROUNDS; ++round) CHECK(cuGraphLaunch(exec, NULL));
  const int right = holds(block, bytes, 7 + ROUNDS);
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuMemFree(block));
  return right;
}

int main(int count, char** arguments) {
  if (count != 4) return 2;
  CUcontext context;
  open_device(&context);
  CHECK(cuModuleLoad(&module, arguments[1]));
  const char* const way = arguments[2];
  const size_t bytes = (size_t)atoi(arguments[3]) * MIB;
  int right = 0;
  if (strcmp(way, "block") == 0) right = use_block(bytes);
  if (strcmp(way, "blocks") == 0) right = use_blocks(bytes);
  if (strcmp(way, "graph") == 0) right = use_in_graph(bytes);
  if (strcmp(way, "later") == 0) right = use_block(bytes) && use_block(bytes / 2);
  printf(right ? "ok\n" : "wrong\n");
  return 0;
}
