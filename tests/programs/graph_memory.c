/* Graphs with their own allocations: captured, from the current pool and from one of the program, and built node by
 * node.
 *
 * Usage: graph_memory KERNELS. Each graph sets memory of its own, lets a kernel add to it, and copies it out; one has 3
 * MiB, two others 5 and 3. Prints "ok" or what failed.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define CAPTURED ((size_t)3 << 20)
#define MADE ((size_t)5 << 20)

static CUfunction add_one;
static CUstream stream;

static CUgraphExec instantiate(CUgraph graph) {
  CUgraphExec exec;
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphDestroy(graph));
  return exec;
}

/* The memory has the properties of the pool, and is none of it: the graph owns it. */
static CUgraphExec captured(CUdeviceptr out, CUmemoryPool pool) {
  CUdeviceptr own;
  CUgraph graph;
  int count = (int)(CAPTURED / sizeof(int));
  void* parameters[] = {&own, &count};
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  if (pool == NULL) {
    CHECK(cuMemAllocAsync(&own, CAPTURED, stream));
  } else {
    CHECK(cuMemAllocFromPoolAsync(&own, CAPTURED, pool, stream));
  }
  CHECK(cuMemsetD32Async(own, 7, CAPTURED / sizeof(int), stream));
  CHECK(cuLaunchKernel(add_one, ((unsigned)count + 255) / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
  CHECK(cuMemcpyDtoDAsync(out, own, CAPTURED, stream));
  CHECK(cuMemFreeAsync(own, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  return instantiate(graph);
}

static CUgraphExec made(CUdeviceptr out, CUcontext context) {
  CUDA_MEM_ALLOC_NODE_PARAMS memory, told;
  CUDA_MEMSET_NODE_PARAMS set;
  CUDA_MEMCPY3D copy;
  CUdeviceptr freed;
  CUgraph graph;
  CUgraphNode node[4];
  memset(&memory, 0, sizeof(memory));
  memset(&set, 0, sizeof(set));
  memset(&copy, 0, sizeof(copy));
  memory.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  memory.bytesize = MADE;
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddMemAllocNode(&node[0], graph, NULL, 0, &memory));
  set.dst = memory.dptr;
  set.value = 9;
  set.elementSize = 4;
  set.width = MADE / 4;
  set.height = 1;
  CHECK(cuGraphAddMemsetNode(&node[1], graph, &node[0], 1, &set, context));
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = memory.dptr;
  copy.dstDevice = out;
  copy.WidthInBytes = MADE;
  copy.Height = copy.Depth = 1;
  CHECK(cuGraphAddMemcpyNode(&node[2], graph, &node[1], 1, &copy, context));
  CHECK(cuGraphAddMemFreeNode(&node[3], graph, &node[2], 1, memory.dptr));
  CHECK(cuGraphMemAllocNodeGetParams(node[0], &told));
  CHECK(cuGraphMemFreeNodeGetParams(node[3], &freed));
  if (told.bytesize != MADE || told.dptr != memory.dptr || freed != memory.dptr) exit(1);
  return instantiate(graph);
}

static void expect(CUdeviceptr at, int value, size_t bytes) {
  int* const numbers = malloc(bytes);
  CHECK(cuMemcpyDtoH(numbers, at, bytes));
  for (size_t i = 0; i < bytes / sizeof(int); ++i) {
    if (numbers[i] == value) continue;
    fprintf(stderr, "number %zu: %d, not %d\n", i, numbers[i], value);
    exit(1);
  }
  free(numbers);
}

int main(int argc, char** argv) {
  CUcontext context;
  CUmodule module;
  CUmemPoolProps props;
  CUmemoryPool pool;
  CUdeviceptr first, second, third, beside;
  cuuint64_t used = 0;
  if (argc != 2) {
    fprintf(stderr, "usage: graph_memory KERNELS\n");
    return 2;
  }
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&first, CAPTURED));
  CHECK(cuMemAlloc(&second, MADE));
  CHECK(cuMemAlloc(&third, CAPTURED));
  memset(&props, 0, sizeof(props));
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CHECK(cuMemPoolCreate(&pool, &props));
  CHECK(cuMemAllocFromPoolAsync(&beside, 512, pool, stream));
  CUgraphExec exec[] = {captured(first, NULL), made(second, context), captured(third, pool)};
  CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
  if (used != 512) {
    fprintf(stderr, "%llu bytes of the pool were in use\n", (unsigned long long)used);
    return 1;
  }
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) CHECK(cuGraphLaunch(exec[i], stream));
    CHECK(cuStreamSynchronize(stream));
    expect(first, 8, CAPTURED);
    expect(second, 9, MADE);
    expect(third, 8, CAPTURED);
  }
  for (int i = 0; i < 3; ++i) CHECK(cuGraphExecDestroy(exec[i]));
  CHECK(cuMemFreeAsync(beside, stream));
  CHECK(cuMemPoolDestroy(pool));
  puts("ok");
  return 0;
}
