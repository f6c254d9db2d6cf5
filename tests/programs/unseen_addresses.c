/* Kernels that follow addresses which no call shows, over more memory than a small device holds: those in a list linked
 * by kernels, those in a table in host memory or in a table too large to be searched, and those that a kernel gets
 * through a queue while it runs.
 *
 * Usage: unseen_addresses KERNELS. One thread adds to all blocks, by launches that name the first block of a list or no
 * block at all, also as a graph, while another reads block after block, so that blocks move all the time. At the end
 * all numbers are compared. Prints "ok" or what failed.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 18)
#define ROUNDS 12
#define WAYS 6
#define LARGE (1 << 15)             /* words: more than are searched for addresses in a copy */
#define NUMBERS sizeof(CUdeviceptr) /* where they begin in a block */

static CUdeviceptr block[BLOCKS];
static CUfunction put_in_front, add_to_list, add_to_list_of_global, add_by_table, serve_queue;
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

static void* host_memory(size_t bytes) {
  void* memory;
  CHECK(cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_DEVICEMAP));
  return memory;
}

static void by_table_in_host_memory(CUstream stream, CUdeviceptr* table) {
  int used = BLOCKS, count = COUNT;
  void* parameters[] = {&table, &used, &count};
  for (int i = 0; i < BLOCKS; ++i) table[i] = block[i] + NUMBERS;
  launch(add_by_table, stream, parameters);
}

static void by_large_table(CUstream stream, CUdeviceptr* words, CUdeviceptr large) {
  int used = BLOCKS, count = COUNT;
  CUdeviceptr first = large + (LARGE - BLOCKS) * sizeof(CUdeviceptr);
  void* parameters[] = {&first, &used, &count};
  for (int i = 0; i < BLOCKS; ++i) words[LARGE - BLOCKS + i] = block[i] + NUMBERS;
  CHECK(cuMemcpyHtoDAsync(large, words, LARGE * sizeof(CUdeviceptr), stream));
  launch(add_by_table, stream, parameters);
}

struct queue {
  atomic_int put;
  CUdeviceptr targets[64];
};

/* The kernel runs before it can know which blocks it will touch. */
static void by_queue(CUstream stream, struct queue* queue) {
  int wanted = BLOCKS, count = COUNT;
  void* parameters[] = {&queue, &wanted, &count};
  atomic_store(&queue->put, 0);
  CHECK(cuLaunchKernel(serve_queue, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
  for (int i = 0; i < BLOCKS; ++i) {
    queue->targets[i] = block[i] + NUMBERS;
    atomic_store(&queue->put, i + 1);
  }
  CHECK(cuStreamSynchronize(stream));
}

static void* add(void* unused) {
  int count = COUNT;
  void* by_head[] = {&block[0], &count};
  void* by_global[] = {&count};
  CUstream stream;
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUgraphExec exec = graph_of_global(stream);
  CUdeviceptr* const table = host_memory(BLOCKS * sizeof(CUdeviceptr));
  struct queue* const queue = host_memory(sizeof(struct queue));
  CUdeviceptr* const words = host_memory(LARGE * sizeof(CUdeviceptr));
  CUdeviceptr large;
  CHECK(cuMemAlloc(&large, LARGE * sizeof(CUdeviceptr)));
  for (int round = 0; round < ROUNDS; ++round) {
    launch(add_to_list, stream, by_head);
    launch(add_to_list_of_global, stream, by_global);
    CHECK(cuGraphLaunch(exec, stream));
    by_table_in_host_memory(stream, table);
    by_large_table(stream, words, large);
    by_queue(stream, queue);
  }
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemFreeHost(table));
  CHECK(cuMemFreeHost(queue));
  CHECK(cuMemFreeHost(words));
  CHECK(cuMemFree(large));
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuStreamDestroy(stream));
  atomic_store(&adding, 0);
  return unused;
}

static int compare(void) {
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i] + NUMBERS, COUNT, i, i + WAYS * ROUNDS)) return 1;
  }
  puts("ok");
  return 0;
}

int main(int argc, char** argv) {
  CUmodule module;
  pthread_t adder;
  int number;
  if (argc != 2) {
    fprintf(stderr, "usage: unseen_addresses KERNELS\n");
    return 2;
  }
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&put_in_front, module, "put_in_front"));
  CHECK(cuModuleGetFunction(&add_to_list, module, "add_to_list"));
  CHECK(cuModuleGetFunction(&add_to_list_of_global, module, "add_to_list_of_global"));
  CHECK(cuModuleGetFunction(&add_by_table, module, "add_by_table"));
  CHECK(cuModuleGetFunction(&serve_queue, module, "serve_queue"));
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemAlloc(&block[i], NUMBERS + COUNT * sizeof(int)));
  link_all();
  if (pthread_create(&adder, NULL, add, NULL) != 0) return 2;
  for (int i = 0; atomic_load(&adding); i = (i + 1) % BLOCKS) {
    CHECK(cuMemcpyDtoH(&number, block[i] + NUMBERS, sizeof(number)));
  }
  pthread_join(adder, NULL);
  return compare();
}
