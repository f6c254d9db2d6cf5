/* Graphs of every origin, over more memory than a small device holds.
 *
 * Usage: graphs KERNELS. Each part builds graphs over some of the blocks, launches them alternately (so that each finds
 * its blocks evicted), and tracks the expected results; at the end all numbers are compared. Prints "ok" or what
 * failed.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 19)
#define BYTES (COUNT * sizeof(int))

struct lists {
  int count;
  CUdeviceptr targets[3], source;
};

static CUdeviceptr block[BLOCKS];
static int expected[BLOCKS];
static CUfunction add_one, add_to_lists;
static CUstream stream, other;
static int host_calls;
static const unsigned grid = (COUNT + 255) / 256;

static void launch_add_one(int to, CUstream on) {
  int count = COUNT;
  void* parameters[] = {&block[to], &count};
  CHECK(cuLaunchKernel(add_one, grid, 1, 1, 256, 1, 1, 0, on, parameters, NULL));
}

/* For a node that adds one to a block; the lists live as long as the caller's call. */
struct kernel {
  int count;
  void* parameters[2];
  CUDA_KERNEL_NODE_PARAMS params;
};
static const CUDA_KERNEL_NODE_PARAMS* adding_to(struct kernel* kernel, CUdeviceptr* target) {
  memset(kernel, 0, sizeof(*kernel));
  kernel->count = COUNT;
  kernel->parameters[0] = target;
  kernel->parameters[1] = &kernel->count;
  kernel->params.func = add_one;
  kernel->params.gridDimX = grid;
  kernel->params.gridDimY = kernel->params.gridDimZ = 1;
  kernel->params.blockDimX = 256;
  kernel->params.blockDimY = kernel->params.blockDimZ = 1;
  kernel->params.kernelParams = kernel->parameters;
  return &kernel->params;
}

static CUDA_MEMCPY3D copy_between(int to, int from) {
  CUDA_MEMCPY3D copy;
  memset(&copy, 0, sizeof(copy));
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = block[from];
  copy.dstDevice = block[to];
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = BYTES;
  copy.Height = copy.Depth = 1;
  return copy;
}

static CUDA_MEMSET_NODE_PARAMS set_to(int to, unsigned value) {
  const CUDA_MEMSET_NODE_PARAMS set = {block[to], 0, value, 4, COUNT, 1};
  return set;
}

static CUgraphExec executable(CUgraph graph) {
  CUgraphExec exec;
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphDestroy(graph));
  return exec;
}

static void CUDA_CB count_call(void* counter) { ++*(int*)counter; }

/* ---- captured, with a second stream that forks off and joins ---- */

static CUgraph capture_pair(int a, int b) {
  CUgraph graph;
  CUevent forked, joined;
  CHECK(cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuEventRecord(forked, stream));
  CHECK(cuStreamWaitEvent(other, forked, 0));
  launch_add_one(a, stream);
  launch_add_one(b, other);
  CHECK(cuLaunchHostFunc(other, count_call, &host_calls));
  CHECK(cuEventRecord(joined, other));
  CHECK(cuStreamWaitEvent(stream, joined, 0));
  launch_add_one(b, stream);
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuEventDestroy(forked));
  CHECK(cuEventDestroy(joined));
  return graph;
}

static void captured(void) {
  CUgraphExec exec[BLOCKS / 2];
  for (int i = 0; i < BLOCKS / 2; ++i) exec[i] = executable(capture_pair(2 * i, 2 * i + 1));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < BLOCKS / 2; ++i) {
      CHECK(cuGraphLaunch(exec[i], round == 1 ? NULL : stream));
      expected[2 * i] += 1;
      expected[2 * i + 1] += 2;
    }
  }
  for (int i = 0; i < BLOCKS / 2; ++i) CHECK(cuGraphExecDestroy(exec[i]));
  CHECK(cuCtxSynchronize());
  if (host_calls == 3 * BLOCKS / 2) return;
  fprintf(stderr, "host functions: %d\n", host_calls);
  exit(1);
}

/* Copies and sets are captured too, with the old and the new query. */
static void captured_copies(void) {
  CUgraphExec exec;
  CUgraph graph;
  CUstreamCaptureStatus status;
  cuuint64_t id;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CHECK(cuMemsetD32Async(block[0], 100, COUNT, stream));
  CHECK(cuMemcpyDtoDAsync(block[1], block[0], BYTES, stream));
  CHECK(cuStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, NULL));
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) exit(1);
  CHECK(cuStreamEndCapture(stream, &graph));
  exec = executable(graph);
  for (int i = 2; i < BLOCKS; ++i) launch_add_one(i, stream), ++expected[i];
  CHECK(cuGraphLaunch(exec, stream));
  expected[0] = expected[1] = 100;
  CHECK(cuGraphExecDestroy(exec));
}

/* ---- built node by node, and changed ---- */

static void hand_made(void) {
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode set, add, copy;
  struct kernel kernel;
  CUDA_MEMSET_NODE_PARAMS to_seven = set_to(2, 7);
  CUDA_MEMCPY3D two_to_three = copy_between(3, 2);
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddMemsetNode(&set, graph, NULL, 0, &to_seven, NULL));
  CHECK(cuGraphAddKernelNode(&add, graph, &set, 1, adding_to(&kernel, &block[2])));
  CHECK(cuGraphAddMemcpyNode(&copy, graph, &add, 1, &two_to_three, NULL));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  for (int i = 4; i < BLOCKS; ++i) launch_add_one(i, stream), ++expected[i];
  CHECK(cuGraphLaunch(exec, stream));
  expected[2] = expected[3] = 8;
  /* Other blocks, one node after the other. */
  to_seven = set_to(8, 20);
  two_to_three = copy_between(9, 8);
  CHECK(cuGraphExecMemsetNodeSetParams(exec, set, &to_seven, NULL));
  CHECK(cuGraphExecKernelNodeSetParams(exec, add, adding_to(&kernel, &block[8])));
  CHECK(cuGraphExecMemcpyNodeSetParams(exec, copy, &two_to_three, NULL));
  CHECK(cuGraphLaunch(exec, stream));
  expected[8] = expected[9] = 21;
  /* All at once, from the graph itself. */
  to_seven = set_to(5, 30);
  two_to_three = copy_between(6, 5);
  CHECK(cuGraphMemsetNodeSetParams(set, &to_seven));
  CHECK(cuGraphKernelNodeSetParams(add, adding_to(&kernel, &block[5])));
  CHECK(cuGraphMemcpyNodeSetParams(copy, &two_to_three));
  CUgraphExecUpdateResultInfo info;
  CHECK(cuGraphExecUpdate(exec, graph, &info));
  CHECK(cuGraphLaunch(exec, stream));
  expected[5] = expected[6] = 31;
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
}

static CUgraph one_kernel(int to) {
  CUgraph graph;
  CUgraphNode node;
  CUgraphNodeParams params;
  struct kernel kernel;
  adding_to(&kernel, &block[to]);
  memset(&params, 0, sizeof(params));
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  memcpy(&params.kernel, &kernel.params, sizeof(kernel.params));
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
  return graph;
}

static void nested(void) {
  CUgraph outer, inner = one_kernel(10), changed = one_kernel(11), copy;
  CUgraphExec exec;
  CUgraphNode first, second;
  CHECK(cuGraphCreate(&outer, 0));
  CHECK(cuGraphAddChildGraphNode(&first, outer, NULL, 0, inner));
  CHECK(cuGraphAddChildGraphNode(&second, outer, &first, 1, inner));
  CHECK(cuGraphClone(&copy, outer));
  CHECK(cuGraphNodeFindInClone(&second, second, copy));
  CHECK(cuGraphInstantiate(&exec, copy, 0));
  for (int i = 0; i < 8; ++i) launch_add_one(i, stream), ++expected[i];
  CHECK(cuGraphLaunch(exec, stream));
  expected[10] += 2;
  CHECK(cuGraphExecChildGraphNodeSetParams(exec, second, changed));
  CHECK(cuGraphLaunch(exec, stream));
  ++expected[10];
  ++expected[11];
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(copy));
  CHECK(cuGraphDestroy(outer));
  CHECK(cuGraphDestroy(inner));
  CHECK(cuGraphDestroy(changed));
}

/* Addresses in a struct; and a graph that is uploaded before its launch. */
static void captured_struct(void) {
  CUgraph graph;
  CUgraphExec exec;
  struct lists lists = {COUNT, {block[0], block[4], block[7]}, block[9]};
  void* parameters[] = {&lists};
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cuLaunchKernel(add_to_lists, grid, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
  launch_add_one(1, stream);
  CHECK(cuStreamEndCapture(stream, &graph));
  exec = executable(graph);
  for (int round = 0; round < 2; ++round) {
    for (int i = 2; i < 9; ++i) launch_add_one(i, stream), ++expected[i];
    CHECK(cuGraphUpload(exec, stream));
    CHECK(cuGraphLaunch(exec, stream));
    expected[0] += expected[9];
    expected[4] += expected[9];
    expected[7] += expected[9];
    ++expected[1];
  }
  CHECK(cuGraphExecDestroy(exec));
}

/* Memory is allocated and freed while another stream captures; the graph's blocks stay valid. */
static void memory_during_a_capture(void) {
  CUdeviceptr early, late;
  CUgraph graph;
  CUgraphExec exec;
  struct kernel kernel;
  CHECK(cuMemAlloc(&early, BYTES));
  CHECK(cuMemsetD32(early, 0, COUNT));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  launch_add_one(3, stream);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  CHECK(cuThreadExchangeStreamCaptureMode(&mode));
  CHECK(cuMemFree(early));
  CHECK(cuMemAlloc(&late, BYTES));
  CHECK(cuThreadExchangeStreamCaptureMode(&mode));
  for (int i = 4; i < BLOCKS; ++i) launch_add_one(i, other), ++expected[i];
  CHECK(cuStreamEndCapture(stream, &graph));
  CUgraphNode node;
  CHECK(cuGraphAddKernelNode(&node, graph, NULL, 0, adding_to(&kernel, &late)));
  exec = executable(graph);
  CHECK(cuGraphLaunch(exec, stream));
  ++expected[3];
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuMemFree(late));
}

/* Another thread's work makes blocks move; it must not invalidate a capture of this thread. */
static CUcontext context;

static void* add_to_all(void* unused) {
  CHECK(cuCtxSetCurrent(context));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < BLOCKS; ++i) launch_add_one(i, other);
  }
  return unused;
}

static void moves_during_a_capture(void) {
  pthread_t worker;
  CUgraph graph;
  CUgraphExec exec;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  launch_add_one(0, stream);
  if (pthread_create(&worker, NULL, add_to_all, NULL) != 0) exit(1);
  pthread_join(worker, NULL);
  launch_add_one(11, stream);
  CHECK(cuStreamEndCapture(stream, &graph));
  exec = executable(graph);
  CHECK(cuStreamSynchronize(other));
  CHECK(cuGraphLaunch(exec, stream));
  for (int i = 0; i < BLOCKS; ++i) expected[i] += 3;
  ++expected[0];
  ++expected[11];
  CHECK(cuGraphExecDestroy(exec));
}

static int compare(int* host) {
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemcpyDtoH(host, block[i], BYTES));
    for (int n = 0; n < COUNT; ++n) {
      if (host[n] == expected[i]) continue;
      fprintf(stderr, "block %d, number %d: %d, not %d\n", i, n, host[n], expected[i]);
      return 1;
    }
  }
  return 0;
}

static void load(const char* file) {
  CUmodule module;
  CHECK(cuModuleLoad(&module, file));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  CHECK(cuModuleGetFunction(&add_to_lists, module, "add_to_lists"));
}

int main(int argc, char** argv) {
  static void (*const parts[])(void) = {
      captured, captured_copies, hand_made, nested, captured_struct, memory_during_a_capture, moves_during_a_capture};
  if (argc != 2) {
    fprintf(stderr, "usage: graphs KERNELS\n");
    return 2;
  }
  open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  load(argv[1]);
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], BYTES));
    expected[i] = i;
    CHECK(cuMemsetD32(block[i], (unsigned)i, COUNT));
  }
  int* const words = malloc(BYTES);
  for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); ++part) {
    parts[part]();
    CHECK(cuCtxSynchronize());
    if (compare(words) != 0) {
      fprintf(stderr, "after part %d\n", (int)part);
      return 1;
    }
  }
  free(words);
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemFree(block[i]));
  CHECK(cuStreamDestroy(other));
  CHECK(cuStreamDestroy(stream));
  puts("ok");
  return 0;
}
