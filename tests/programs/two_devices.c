/* Copies from one device to another, by calls and by graphs, over more memory than a small device holds.
 *
 * Usage: two_devices KERNELS. A copy waits on a stream of the first device while its target's device is busy with other
 * blocks, so that the target would be evicted if the copy were not waited for. Each block of the second device gets
 * numbers from the first one, and one more by a kernel. At the end all numbers are compared. Prints "ok" or what
 * failed.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

#define BLOCKS 8
#define COUNT (1 << 19)
#define BYTES (COUNT * sizeof(int))

static CUcontext contexts[2];
static CUfunction add_one, add_one_first; /* of the second device, of the first one */
static CUdeviceptr source, block[BLOCKS];
static int expected[BLOCKS];
static const unsigned grid = (COUNT + 255) / 256;

static void CUDA_CB take_time(void* unused) {
  (void)unused;
  usleep(20000);
}

/* On the second device. */
static void add_to(int to) {
  int count = COUNT;
  void* parameters[] = {&block[to], &count};
  CHECK(cuLaunchKernel(add_one, grid, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
  ++expected[to];
}

static void copy_to(int to, int value, CUstream stream) {
  CHECK(cuCtxSetCurrent(contexts[0]));
  CHECK(cuMemsetD32Async(source, (unsigned)value, COUNT, stream));
  CHECK(cuLaunchHostFunc(stream, take_time, NULL));
  if (value % 2 == 0) {
    CHECK(cuMemcpyPeerAsync(block[to], contexts[1], source, contexts[0], BYTES, stream));
  } else {
    CHECK(cuMemcpyDtoDAsync(block[to], source, BYTES, stream));
  }
  CHECK(cuCtxSetCurrent(contexts[1]));
  expected[to] = value;
}

static CUdeviceptr freed_at_once(CUdeviceptr gone, CUstream unused) {
  CUdeviceptr next;
  (void)unused;
  CHECK(cuCtxSetCurrent(contexts[0]));
  CHECK(cuMemFree(gone));
  CHECK(cuCtxSetCurrent(contexts[1]));
  CHECK(cuMemAlloc(&next, BYTES));
  return next;
}

/* After the work, on a stream of the first device that waits for it. */
static CUdeviceptr freed_in_order(CUdeviceptr gone, CUstream busy) {
  CUdeviceptr next;
  CUevent over;
  CHECK(cuEventCreate(&over, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventRecord(over, busy));
  CHECK(cuCtxSetCurrent(contexts[0]));
  CHECK(cuStreamWaitEvent(NULL, over, 0));
  CHECK(cuMemFreeAsync(gone, NULL));
  CHECK(cuCtxSetCurrent(contexts[1]));
  CHECK(cuMemAllocAsync(&next, BYTES, NULL));
  CHECK(cuEventDestroy(over));
  return next;
}

/* A graph holds it, and ends after the free with the other device current. */
static CUdeviceptr freed_with_graph(CUdeviceptr gone, CUstream unused) {
  CUdeviceptr next;
  CUstream stream;
  CUgraph graph;
  CUgraphExec exec;
  (void)unused;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cuMemsetD32Async(gone, 0, COUNT, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuCtxSetCurrent(contexts[0]));
  CHECK(cuMemFree(gone));
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuCtxSetCurrent(contexts[1]));
  CHECK(cuMemAlloc(&next, BYTES));
  CHECK(cuStreamDestroy(stream));
  return next;
}

/* A block of the second device is freed while that device works on it, with the other device current: a block that
 * takes its place must not be added to. */
static void free_from_elsewhere(CUdeviceptr (*replace)(CUdeviceptr, CUstream)) {
  CUdeviceptr gone;
  CUstream busy, other;
  int count = COUNT, number = 0;
  void* parameters[] = {&gone, &count};
  CHECK(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&gone, BYTES));
  CHECK(cuLaunchHostFunc(busy, take_time, NULL));
  CHECK(cuLaunchKernel(add_one, grid, 1, 1, 256, 1, 1, 0, busy, parameters, NULL));
  const CUdeviceptr next = replace(gone, busy);
  CHECK(cuMemsetD32Async(next, 7, COUNT, other));
  CHECK(cuStreamSynchronize(other));
  CHECK(cuStreamSynchronize(busy));
  CHECK(cuMemcpyDtoH(&number, next, sizeof(number)));
  if (number != 7) {
    fprintf(stderr, "a block that took the place of one that was freed: %d\n", number);
    exit(1);
  }
  CHECK(cuMemFree(next));
  CHECK(cuStreamDestroy(busy));
  CHECK(cuStreamDestroy(other));
}

static CUresult is_on(CUdevice device, CUdeviceptr block, CUstream stream) {
  int found = -1;
  CHECK(cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, block));
  CHECK(cuMemFreeAsync(block, stream));
  if (found == device) return CUDA_SUCCESS;
  fprintf(stderr, "on device %d: ", found);
  return CUDA_ERROR_INVALID_DEVICE;
}

/* Stream-ordered memory belongs to the stream's device, or to the pool's, whichever device is current. */
static void allocate_from_elsewhere(void) {
  CUstream stream;
  CUmemoryPool pools[2];
  CUdeviceptr made;
  CHECK(cuDeviceGetDefaultMemPool(&pools[0], 0));
  CHECK(cuDeviceGetDefaultMemPool(&pools[1], 1));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuCtxSetCurrent(contexts[0]));
  CHECK(cuMemAllocAsync(&made, BYTES, stream));
  CHECK(is_on(1, made, stream));
  CHECK(cuMemAllocAsync(&made, BYTES, NULL));
  CHECK(is_on(0, made, NULL));
  CHECK(cuMemAllocFromPoolAsync(&made, BYTES, pools[1], stream));
  CHECK(is_on(1, made, stream));
  CHECK(cuMemAllocFromPoolAsync(&made, BYTES, pools[0], stream));
  CHECK(is_on(0, made, stream));
  CHECK(cuCtxSetCurrent(contexts[1]));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuStreamDestroy(stream));
}

/* Like copy_to, by a graph. */
static CUgraphExec graph_to(int to, int value, CUstream stream) {
  CUgraph graph;
  CUgraphExec exec;
  CHECK(cuCtxSetCurrent(contexts[0]));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cuMemsetD32Async(source, (unsigned)value, COUNT, stream));
  CHECK(cuLaunchHostFunc(stream, take_time, NULL));
  CHECK(cuMemcpyDtoDAsync(block[to], source, BYTES, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuCtxSetCurrent(contexts[1]));
  return exec;
}

/* A copy by a graph waits while its target's device is busy with all other blocks. */
static void copy_by_graphs(CUstream stream) {
  for (int to = 0; to < BLOCKS; ++to) {
    CUgraphExec exec = graph_to(to, 500 + to, stream);
    CHECK(cuCtxSynchronize());
    CHECK(cuCtxSetCurrent(contexts[0]));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuCtxSetCurrent(contexts[1]));
    expected[to] = 500 + to;
    for (int i = 1; i < BLOCKS; ++i) add_to((to + i) % BLOCKS);
    CHECK(cuStreamSynchronize(stream));
    add_to(to);
    CHECK(cuGraphExecDestroy(exec));
  }
}

/* The first device's kernels read the second one's block if allowed, otherwise a copy of it. */
static void read_from_first(void) {
  int can, attribute;
  CHECK(cuDeviceCanAccessPeer(&can, 0, 1));
  CHECK(cuDeviceGetP2PAttribute(&attribute, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
  if (can != attribute) {
    fprintf(stderr, "access: %d and %d\n", can, attribute);
    exit(1);
  }
  CHECK(cuCtxSetCurrent(contexts[0]));
  if (can) CHECK(cuCtxEnablePeerAccess(contexts[1], 0));
  for (int i = 0; i < BLOCKS; ++i) {
    int count = COUNT;
    CUdeviceptr at = can ? block[i] : source;
    void* parameters[] = {&at, &count};
    if (!can) CHECK(cuMemcpyDtoD(source, block[i], BYTES));
    CHECK(cuLaunchKernel(add_one_first, grid, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
    if (!can) CHECK(cuMemcpyDtoD(block[i], source, BYTES));
    ++expected[i];
  }
  CHECK(cuCtxSynchronize());
  if (can) CHECK(cuCtxDisablePeerAccess(contexts[1]));
  CHECK(cuCtxSetCurrent(contexts[1]));
}

static int compare(void) {
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, expected[i])) return 1;
  }
  puts("ok");
  return 0;
}

int main(int argc, char** argv) {
  CUmodule module;
  CUstream own;
  if (argc != 2) {
    fprintf(stderr, "usage: two_devices KERNELS\n");
    return 2;
  }
  open_device(&contexts[0]);
  CHECK(cuDevicePrimaryCtxRetain(&contexts[1], 1));
  CHECK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&add_one_first, module, "add_one"));
  CHECK(cuMemAlloc(&source, BYTES));
  CHECK(cuCtxSetCurrent(contexts[1]));
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemAlloc(&block[i], BYTES));
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemsetD32(block[i], 0, COUNT));
  for (int round = 0; round < 2 * BLOCKS; ++round) {
    const int to = round % BLOCKS;
    const CUstream stream = round < BLOCKS ? own : NULL;
    CHECK(cuCtxSynchronize());
    copy_to(to, 100 + round, stream);
    for (int i = 1; i < BLOCKS; ++i) add_to((to + i) % BLOCKS);
    CHECK(cuCtxSetCurrent(contexts[0]));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuCtxSetCurrent(contexts[1]));
    add_to(to);
  }
  CHECK(cuCtxSynchronize());
  copy_by_graphs(own);
  read_from_first();
  free_from_elsewhere(freed_at_once);
  free_from_elsewhere(freed_in_order);
  free_from_elsewhere(freed_with_graph);
  allocate_from_elsewhere();
  return compare();
}
