/* A graph with every kind of node that a launch in parts can keep in order, over more memory than a small device holds:
 * host functions, events, child graphs, graph memory.
 *
 * Usage: mixed_graph KERNELS [kept]. Each block becomes a copy of the previous one plus one. Host functions record when
 * they are called, and what had been copied to them by then. With `kept` the graph does not free its memory, so that it
 * cannot be launched in parts; the program frees it after each launch, without which there is no other. Prints "ok" or
 * what went wrong.
 */
#include <cuda.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 19)
#define BYTES (COUNT * sizeof(int))
#define FIRST 100

static CUdeviceptr block[BLOCKS], own;
static CUfunction add_one;
static CUcontext context;
static CUgraph graph;
static CUgraphNode last, last_host, plain_child, end;
static int copied_out, keeps_memory;
static atomic_int released;

/* Recorded by the host functions in one launch. */
static struct note {
  char who;
  int copied_out;
} notes[16];
static int noted;

static void fail(const char* what, int at, int value) {
  fprintf(stderr, "%s: %d is %d\n", what, at, value);
  exit(1);
}

static void CUDA_CB note_call(void* who) {
  notes[noted].who = *(const char*)who;
  notes[noted++].copied_out = copied_out;
}

/* Slow, so that a graph that does not wait for it overtakes it. */
static void CUDA_CB release(void* unused) {
  (void)unused;
  usleep(20000);
  atomic_store(&released, 1);
}

static void CUDA_CB note_release(void* who) {
  if (atomic_load(&released)) note_call(who);
}

/* ---- nodes, each after the previous one ---- */

static const CUgraphNode* before(void) { return last != NULL ? &last : NULL; }

static void then_add(CUgraph to, CUdeviceptr target) {
  int count = COUNT;
  void* parameters[] = {&target, &count};
  CUDA_KERNEL_NODE_PARAMS params;
  CUgraphNode node;
  memset(&params, 0, sizeof(params));
  params.func = add_one;
  params.gridDimX = COUNT / 256;
  params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = 256;
  params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = parameters;
  CHECK(cuGraphAddKernelNode(&node, to, before(), last != NULL, &params));
  last = node;
}

static void then_copy(CUgraph to, CUdeviceptr target, CUdeviceptr source) {
  CUDA_MEMCPY3D params;
  CUgraphNode node;
  memset(&params, 0, sizeof(params));
  params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  params.srcDevice = source;
  params.dstDevice = target;
  params.WidthInBytes = BYTES;
  params.Height = params.Depth = 1;
  CHECK(cuGraphAddMemcpyNode(&node, to, before(), last != NULL, &params, context));
  last = node;
}

static void then_copy_out(CUgraph to, CUdeviceptr source) {
  CUDA_MEMCPY3D params;
  CUgraphNode node;
  memset(&params, 0, sizeof(params));
  params.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  params.dstMemoryType = CU_MEMORYTYPE_HOST;
  params.srcDevice = source;
  params.dstHost = &copied_out;
  params.WidthInBytes = sizeof(int);
  params.Height = params.Depth = 1;
  CHECK(cuGraphAddMemcpyNode(&node, to, before(), last != NULL, &params, context));
  last = node;
}

static void then_call(CUgraph to, CUhostFn function, const char* who) {
  const CUDA_HOST_NODE_PARAMS params = {function, (void*)who};
  CUgraphNode node;
  CHECK(cuGraphAddHostNode(&node, to, before(), last != NULL, &params));
  last = last_host = node;
}

static void then_record(CUgraph to, CUevent event) {
  CUgraphNode node;
  CHECK(cuGraphAddEventRecordNode(&node, to, before(), last != NULL, event));
  last = node;
}

static void then_child(CUgraph child, CUgraphNode after) {
  CUgraphNode node;
  CHECK(cuGraphAddChildGraphNode(&node, graph, &after, 1, child));
  CHECK(cuGraphDestroy(child));
  last = node;
}

static CUgraph new_graph(void) {
  CUgraph made;
  CHECK(cuGraphCreate(&made, 0));
  last = NULL;
  return made;
}

/* ---- the graph: block by block ---- */

static void begin(CUevent wait_for) {
  const CUDA_MEMSET_NODE_PARAMS first = {block[0], 0, FIRST, 4, COUNT, 1};
  CUgraphNode node;
  CHECK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &first, context));
  CHECK(cuGraphAddEventWaitNode(&last, graph, &node, 1, wait_for));
  then_call(graph, note_release, "a");
}

static void next_blocks(CUgraph to, int from, int until) {
  for (int i = from; i < until; ++i) {
    then_copy(to, block[i], block[i - 1]);
    then_add(to, block[i]);
  }
}

static void child_with_calls(int from, int until) {
  const CUgraphNode after = last;
  CUgraph child = new_graph();
  next_blocks(child, from, until);
  then_copy_out(child, block[until - 1]);
  then_call(child, note_call, "b");
  then_child(child, after);
}

/* The block gets its data through the graph's own memory. */
static void through_own_memory(int to) {
  CUDA_MEM_ALLOC_NODE_PARAMS memory;
  CUgraphNode node;
  memset(&memory, 0, sizeof(memory));
  memory.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  memory.bytesize = BYTES;
  CHECK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &memory));
  CHECK(cuGraphAddDependencies(graph, &last, &node, NULL, 1));
  last = node;
  own = memory.dptr;
  then_copy(graph, own, block[to - 1]);
  then_add(graph, own);
  then_copy(graph, block[to], own);
  if (keeps_memory) return;
  CHECK(cuGraphAddMemFreeNode(&node, graph, &last, 1, own));
  last = node;
}

static CUgraph plain(int from, int until, CUdeviceptr last_addition) {
  CUgraph child = new_graph();
  next_blocks(child, from, until - 1);
  then_copy(child, block[until - 1], block[until - 2]);
  then_add(child, last_addition);
  return child;
}

/* The second child ends with block 9. */
static CUgraph plain_part(CUdeviceptr last_addition) { return plain(8, 10, last_addition); }

static void make_graph(CUevent wait_for, CUevent middle, CUevent at_end) {
  graph = new_graph();
  begin(wait_for);
  next_blocks(graph, 1, 4);
  child_with_calls(4, 7);
  then_record(graph, middle);
  through_own_memory(7);
  const CUgraphNode after = last;
  then_child(plain_part(block[9]), after);
  plain_child = last;
  next_blocks(graph, 10, BLOCKS);
  then_copy_out(graph, block[BLOCKS - 1]);
  then_call(graph, note_call, "c");
  then_record(graph, at_end);
  end = last;
}

/* ---- launches, and their expected results ---- */

static void launch(CUgraphExec exec, CUstream other, CUevent ready, const char* callers) {
  const char* const expected_callers = callers;
  CHECK(cuCtxSynchronize());
  atomic_store(&released, 0);
  noted = copied_out = 0;
  CHECK(cuLaunchHostFunc(other, release, NULL));
  CHECK(cuEventRecord(ready, other));
  CHECK(cuGraphLaunch(exec, NULL));
  CHECK(cuCtxSynchronize());
  if (keeps_memory) CHECK(cuMemFree(own));
  if (noted != (int)strlen(expected_callers)) fail("host functions called", 0, noted);
  for (int i = 0; i < noted; ++i) {
    if (notes[i].who != expected_callers[i]) fail("host function", i, notes[i].who);
  }
}

/* Compares every word of every block, and what the host functions saw. */
static void compare(const char* what, const int* expected) {
  int* const words = malloc(BYTES);
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemcpyDtoH(words, block[i], BYTES));
    for (int n = 0; n < COUNT; ++n) {
      if (words[n] != expected[i]) fail(what, i, words[n]);
    }
  }
  free(words);
  if (notes[0].copied_out != 0) fail("before all copies", 0, notes[0].copied_out);
  if (notes[1].copied_out != expected[6]) fail("after the child", 1, notes[1].copied_out);
  if (notes[2].copied_out != expected[11]) fail("at the end", 2, notes[2].copied_out);
}

/* Fails if either event has not been recorded. */
static void expect_recorded(CUevent first, CUevent second) {
  float passed = 0;
  CHECK(cuEventSynchronize(second));
  CHECK(cuEventElapsedTime(&passed, first, second));
}

int main(int argc, char** argv) {
  CUmodule module;
  CUgraphExec exec;
  CUstream other;
  CUevent ready, middle, at_end, at_end_instead;
  int expected[BLOCKS];
  const CUDA_HOST_NODE_PARAMS instead = {note_call, (void*)"d"};
  if (argc != 2 && argc != 3) return 2;
  keeps_memory = argc == 3;
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&ready, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&middle, CU_EVENT_DEFAULT));
  CHECK(cuEventCreate(&at_end, CU_EVENT_DEFAULT));
  CHECK(cuEventCreate(&at_end_instead, CU_EVENT_DEFAULT));
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemAlloc(&block[i], BYTES));
  make_graph(ready, middle, at_end);
  CHECK(cuGraphInstantiate(&exec, graph, 0));

  for (int i = 0; i < BLOCKS; ++i) expected[i] = FIRST + i;
  for (int round = 0; round < 2; ++round) {
    launch(exec, other, ready, "abc");
    compare("as made", expected);
  }
  expect_recorded(middle, at_end);

  CHECK(cuGraphExecHostNodeSetParams(exec, last_host, &instead));
  CHECK(cuGraphExecEventRecordNodeSetEvent(exec, end, at_end_instead));
  launch(exec, other, ready, "abd");
  compare("with other calls", expected);
  expect_recorded(middle, at_end_instead);

  /* The addition to block 9 is redirected to the last block, and is overwritten there. */
  CUgraph child = plain_part(block[BLOCKS - 1]);
  CHECK(cuGraphExecChildGraphNodeSetParams(exec, plain_child, child));
  CHECK(cuGraphDestroy(child));
  CHECK(cuGraphDestroy(graph));
  for (int i = 9; i < BLOCKS; ++i) expected[i] -= 1;
  launch(exec, other, ready, "abd");
  compare("with another child", expected);

  CHECK(cuGraphExecDestroy(exec));
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemFree(block[i]));
  puts("ok");
  return 0;
}
