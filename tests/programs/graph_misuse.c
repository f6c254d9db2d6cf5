/* Frees memory that an executable graph still uses, which CUDA leaves undefined; with Tessera the graph keeps the
 * block, and no other memory may change.
 *
 * Usage: graph_misuse KERNELS. Prints "ok" or what went wrong.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

#define OTHERS 10
#define COUNT (1 << 19)
#define BYTES (COUNT * sizeof(int))

static void fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static volatile int worked;

static void CUDA_CB take_time(void* unused) {
  (void)unused;
  usleep(50000);
  worked = 1;
}

static CUgraphExec graph_that_adds(CUfunction add_one, CUdeviceptr block, CUstream stream) {
  int count = COUNT;
  void* parameters[] = {&block, &count};
  CUgraph graph;
  CUgraphExec exec;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuLaunchKernel(add_one, COUNT / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphDestroy(graph));
  return exec;
}

static void compare(const CUdeviceptr* others) {
  int* const words = malloc(BYTES);
  for (int i = 0; i < OTHERS; ++i) {
    CHECK(cuMemcpyDtoH(words, others[i], BYTES));
    for (int n = 0; n < COUNT; ++n) {
      if (words[n] != i) fail("another block changed");
    }
  }
  free(words);
}

int main(int argc, char** argv) {
  CUcontext context;
  CUmodule module;
  CUfunction add_one;
  CUstream stream;
  CUdeviceptr block, others[OTHERS];
  if (argc != 2) return 2;
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&block, BYTES));
  const CUgraphExec exec = graph_that_adds(add_one, block, stream);
  CHECK(cuLaunchHostFunc(stream, take_time, NULL));
  CHECK(cuMemFree(block));
  if (!worked) fail("a free did not wait for earlier work");
  if (cuMemFree(block) != CUDA_ERROR_INVALID_VALUE) fail("freed twice");
  for (int i = 0; i < OTHERS; ++i) {
    CHECK(cuMemAlloc(&others[i], BYTES));
    if (others[i] == block) fail("the block was allocated again");
    CHECK(cuMemsetD32(others[i], (unsigned)i, COUNT));
    CHECK(cuGraphLaunch(exec, stream));
  }
  CHECK(cuCtxSynchronize());
  compare(others);
  CHECK(cuGraphExecDestroy(exec));
  for (int i = 0; i < OTHERS; ++i) CHECK(cuMemFree(others[i]));
  if (cuMemFree(block) != CUDA_ERROR_INVALID_VALUE) fail("the block outlived its graph");
  puts("ok");
  return 0;
}
