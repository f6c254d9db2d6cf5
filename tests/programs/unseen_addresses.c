/* Kernels that follow addresses which only kernels have written, over more memory than a small device
 * holds: a list of blocks, linked on the device. No call shows where it leads.
 *
 * Usage: unseen_addresses KERNELS. One thread adds to all blocks, by a launch that names the first and
 * by one that names none, also as a graph, while another reads block after block, so that blocks move
 * all the time. At the end all numbers are compared. Prints "ok" or what failed.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 18)
#define ROUNDS 12
#define NUMBERS sizeof(CUdeviceptr) /* where they begin in a block */

static CUdeviceptr block[BLOCKS];
static CUfunction put_in_front, add_to_list, add_to_list_of_global;
static CUcontext context;
static atomic_int adding = 1;
static const unsigned grid = (COUNT + 255) / 256;

static void launch(CUfunction function, CUstream stream, void** parameters) {
  CHECK(cuLaunchKernel(function, grid, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

static void link_all(void) {
  CUdeviceptr next = 0;
  for (int i = BLOCKS; i-- > 0;) {
    void* parameters[] = {&block[i], &next};
    CHECK(cuMemsetD32(block[i], (unsigned)i, COUNT + 2));
    CHECK(cuLaunchKernel(put_in_front, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    next = block[i];
  }
  CHECK(cuCtxSynchronize());
}

static CUgraphExec graph_of_global(CUstream stream) {
  int count = COUNT;
  void* parameters[] = {&count};
  CUgraph graph;
  CUgraphExec exec;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  launch(add_to_list_of_global, stream, parameters);
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphDestroy(graph));
  return exec;
}

static void* add(void* unused) {
  int count = COUNT;
  void* by_head[] = {&block[0], &count};
  void* by_global[] = {&count};
  CUstream stream;
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUgraphExec exec = graph_of_global(stream);
  for (int round = 0; round < ROUNDS; ++round) {
    launch(add_to_list, stream, by_head);
    launch(add_to_list_of_global, stream, by_global);
    CHECK(cuGraphLaunch(exec, stream));
  }
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuStreamDestroy(stream));
  atomic_store(&adding, 0);
  return unused;
}

static int compare(void) {
  int* const numbers = malloc(COUNT * sizeof(int));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemcpyDtoH(numbers, block[i] + NUMBERS, COUNT * sizeof(int)));
    for (int n = 0; n < COUNT; ++n) {
      if (numbers[n] == i + 3 * ROUNDS) continue;
      fprintf(stderr, "block %d, number %d: %d, not %d\n", i, n, numbers[n], i + 3 * ROUNDS);
      return 1;
    }
  }
  free(numbers);
  puts("ok");
  return 0;
}

int main(int argc, char** argv) {
  CUdevice device;
  CUmodule module;
  pthread_t adder;
  int number;
  if (argc != 2) {
    fprintf(stderr, "usage: unseen_addresses KERNELS\n");
    return 2;
  }
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&put_in_front, module, "put_in_front"));
  CHECK(cuModuleGetFunction(&add_to_list, module, "add_to_list"));
  CHECK(cuModuleGetFunction(&add_to_list_of_global, module, "add_to_list_of_global"));
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemAlloc(&block[i], NUMBERS + COUNT * sizeof(int)));
  link_all();
  if (pthread_create(&adder, NULL, add, NULL) != 0) return 2;
  for (int i = 0; atomic_load(&adding); i = (i + 1) % BLOCKS) {
    CHECK(cuMemcpyDtoH(&number, block[i] + NUMBERS, sizeof(number)));
  }
  pthread_join(adder, NULL);
  return compare();
}
