/* A graph over more memory than a small device holds, kept or destroyed before its launches.
 *
 * Usage: large_graph KERNELS. The first block is set, and each block becomes a copy of the previous one plus one, in an
 * order given only by the dependencies. Then a node gets another block, and one is disabled. Prints "ok" or what went
 * wrong.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 19)
#define BYTES (COUNT * sizeof(int))
#define FIRST 100u

static CUdeviceptr block[BLOCKS];
static CUgraph graph;
static CUgraphNode set, copy[BLOCKS], add[BLOCKS];
static CUfunction add_one;

static void fail(const char* what, int at, int value) {
  fprintf(stderr, "%s: %d is %d\n", what, at, value);
  exit(1);
}

/* The lists live as long as the call that gets the parameters. */
static CUDA_KERNEL_NODE_PARAMS kernel_on(void** parameters) {
  CUDA_KERNEL_NODE_PARAMS params;
  memset(&params, 0, sizeof(params));
  params.func = add_one;
  params.gridDimX = COUNT / 256;
  params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = 256;
  params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = parameters;
  return params;
}

/* Kernel nodes first and copies in reverse order, so that the graph's own order is not a valid one. */
static void make_graph(CUcontext context) {
  int count = COUNT;
  const CUDA_MEMSET_NODE_PARAMS zero = {block[0], 0, FIRST, 4, COUNT, 1};
  CHECK(cuGraphCreate(&graph, 0));
  for (int i = 1; i < BLOCKS; ++i) {
    void* parameters[] = {&block[i], &count};
    const CUDA_KERNEL_NODE_PARAMS params = kernel_on(parameters);
    CHECK(cuGraphAddKernelNode(&add[i], graph, NULL, 0, &params));
  }
  for (int i = BLOCKS - 1; i > 0; --i) {
    CUDA_MEMCPY3D params;
    memset(&params, 0, sizeof(params));
    params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.srcDevice = block[i - 1];
    params.dstDevice = block[i];
    params.srcPitch = params.dstPitch = params.WidthInBytes = BYTES;
    params.Height = params.Depth = 1;
    CHECK(cuGraphAddMemcpyNode(&copy[i], graph, NULL, 0, &params, context));
  }
  CHECK(cuGraphAddMemsetNode(&set, graph, NULL, 0, &zero, context));
  for (int i = 1; i < BLOCKS; ++i) {
    CHECK(cuGraphAddDependencies(graph, i == 1 ? &set : &add[i - 1], &copy[i], NULL, 1));
    CHECK(cuGraphAddDependencies(graph, &copy[i], &add[i], NULL, 1));
  }
}

/* Compares every word of every block. */
static void compare(const char* what, const int* expected) {
  int* const words = malloc(BYTES);
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemcpyDtoH(words, block[i], BYTES));
    for (int n = 0; n < COUNT; ++n) {
      if (words[n] != expected[i]) fail(what, i, words[n]);
    }
  }
  free(words);
}

static void launch_twice(CUgraphExec exec) {
  CHECK(cuGraphLaunch(exec, NULL));
  CHECK(cuGraphLaunch(exec, NULL));
}

/* As in most programs: the graph is destroyed before its executable is launched. */
static void launch_alone(const int* expected) {
  CUgraph copy_of_all;
  CUgraphExec exec;
  CHECK(cuGraphClone(&copy_of_all, graph));
  CHECK(cuGraphInstantiate(&exec, copy_of_all, 0));
  CHECK(cuGraphDestroy(copy_of_all));
  launch_twice(exec);
  compare("alone", expected);
  CHECK(cuGraphExecDestroy(exec));
}

int main(int argc, char** argv) {
  CUcontext context;
  CUmodule module;
  CUgraphExec exec;
  unsigned enabled = 7;
  int expected[BLOCKS], count = COUNT;
  if (argc != 2) return 2;
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemAlloc(&block[i], BYTES));
  make_graph(context);
  CHECK(cuGraphInstantiate(&exec, graph, 0));

  for (int i = 0; i < BLOCKS; ++i) expected[i] = (int)FIRST + i;
  launch_alone(expected);
  launch_twice(exec);
  compare("whole", expected);

  /* The fifth block's addition is redirected to the last block but one, and is overwritten there. */
  void* parameters[] = {&block[BLOCKS - 2], &count};
  const CUDA_KERNEL_NODE_PARAMS elsewhere = kernel_on(parameters);
  CHECK(cuGraphExecKernelNodeSetParams(exec, add[5], &elsewhere));
  launch_twice(exec);
  for (int i = 5; i < BLOCKS; ++i) expected[i] -= 1;
  compare("changed", expected);

  CHECK(cuGraphNodeSetEnabled(exec, add[8], 0));
  launch_twice(exec);
  for (int i = 8; i < BLOCKS; ++i) expected[i] -= 1;
  compare("disabled", expected);
  CHECK(cuGraphNodeGetEnabled(exec, add[8], &enabled));
  if (enabled != 0) fail("a node that was disabled", 8, (int)enabled);
  CHECK(cuGraphNodeGetEnabled(exec, copy[3], &enabled));
  if (enabled != 1) fail("a node that was enabled", 3, (int)enabled);

  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemFree(block[i]));
  puts("ok");
  return 0;
}
