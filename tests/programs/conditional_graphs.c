/* Graphs with conditional nodes, over more memory than a small device holds.
 *
 * Usage: conditional_graphs KERNELS DECIDING_KERNELS. Every body uses its own blocks, and all other blocks are used
 * before each launch, so that the bodies' blocks have been evicted. At the end all numbers are compared. Prints "ok" or
 * what failed.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 19)
#define BYTES (COUNT * sizeof(int))
#define WORD 11 /* the block by whose first number graphs decide */

static CUdeviceptr block[BLOCKS];
static int expected[BLOCKS];
static CUcontext context;
static CUfunction add_one, decide_by, count_down;
static CUstream stream;

static void set_params(CUgraphNodeParams* params, CUfunction function, unsigned grid, void** list) {
  memset(params, 0, sizeof(*params));
  params->type = CU_GRAPH_NODE_TYPE_KERNEL;
  params->kernel.func = function;
  params->kernel.gridDimX = grid;
  params->kernel.gridDimY = params->kernel.gridDimZ = 1;
  params->kernel.blockDimX = grid == 1 ? 1 : 256;
  params->kernel.blockDimY = params->kernel.blockDimZ = 1;
  params->kernel.kernelParams = list;
}

static CUgraphNode then(CUgraph graph, CUgraphNode after, CUgraphNodeParams* params) {
  CUgraphNode node;
  CHECK(cuGraphAddNode(&node, graph, after != NULL ? &after : NULL, NULL, after != NULL, params));
  return node;
}

static CUgraphNode then_add(CUgraph graph, CUgraphNode after, int to) {
  int count = COUNT;
  void* list[] = {&block[to], &count};
  CUgraphNodeParams params;
  set_params(&params, add_one, COUNT / 256, list);
  return then(graph, after, &params);
}

static CUgraphNode then_decide(CUgraph graph, CUgraphNode after, CUfunction how, CUgraphConditionalHandle handle) {
  void* list[] = {&handle, &block[WORD]};
  CUgraphNodeParams params;
  set_params(&params, how, 1, list);
  return then(graph, after, &params);
}

static CUgraphConditionalHandle handle_for(CUgraph graph, unsigned at_launch) {
  CUgraphConditionalHandle handle;
  CHECK(cuGraphConditionalHandleCreate(&handle, graph, context, at_launch, CU_GRAPH_COND_ASSIGN_DEFAULT));
  return handle;
}

/* The array lives as long as the node. */
static CUgraph* conditional(CUgraph graph, CUgraphNode after, CUgraphConditionalHandle handle,
                            CUgraphConditionalNodeType type, unsigned size) {
  CUgraphNodeParams params;
  memset(&params, 0, sizeof(params));
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = type;
  params.conditional.size = size;
  params.conditional.ctx = context;
  then(graph, after, &params);
  return params.conditional.phGraph_out;
}

static void use_others(int first, int last) {
  int count = COUNT;
  for (int i = 0; i < BLOCKS - 1; ++i) {
    void* list[] = {&block[i], &count};
    if (i >= first && i <= last) continue;
    CHECK(cuLaunchKernel(add_one, COUNT / 256, 1, 1, 256, 1, 1, 0, stream, list, NULL));
    ++expected[i];
  }
}

static void say_word(int value) { CHECK(cuMemsetD32Async(block[WORD], (unsigned)value, 1, stream)); }

/* Blocks 0 and 1, depending on a word in memory; block 2, depending on the launch default of the value. */
static void if_and_else(void) {
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode inside, changed;
  CUgraphNodeParams params;
  int count = COUNT;
  void* list[] = {&block[3], &count};
  CHECK(cuGraphCreate(&graph, 0));
  const CUgraphConditionalHandle handle = handle_for(graph, 0), always = handle_for(graph, 1);
  CUgraph* const bodies =
      conditional(graph, then_decide(graph, NULL, decide_by, handle), handle, CU_GRAPH_COND_TYPE_IF, 2);
  then_add(bodies[0], NULL, 0);
  then_add(bodies[1], then_add(bodies[1], NULL, 1), 1);
  changed = then_add(*conditional(graph, NULL, always, CU_GRAPH_COND_TYPE_IF, 1), NULL, 2);
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  for (int round = 0; round < 4; ++round) {
    use_others(0, 2);
    say_word(round % 2);
    CHECK(cuGraphLaunch(exec, stream));
    ++expected[2];
    expected[0] += round % 2;
    expected[1] += round % 2 == 0 ? 2 : 0;
  }
  /* A node of a body gets another block. */
  set_params(&params, add_one, COUNT / 256, list);
  CHECK(cuGraphExecNodeSetParams(exec, changed, &params));
  use_others(0, 3);
  say_word(1);
  CHECK(cuGraphLaunch(exec, stream));
  ++expected[0];
  ++expected[3];
  CHECK(cuGraphExecDestroy(exec));
  inside = then_add(bodies[0], NULL, 4);
  CHECK(cuGraphDestroyNode(inside));
  CHECK(cuGraphDestroy(graph));
}

/* Block 4, five times; the body is captured. */
static void repeatedly(void) {
  CUgraph graph, body;
  CUgraphExec exec;
  int count = COUNT;
  void* list[] = {&block[4], &count};
  CHECK(cuGraphCreate(&graph, 0));
  CUgraphConditionalHandle handle = handle_for(graph, 1);
  void* deciding[] = {&handle, &block[WORD]};
  body = *conditional(graph, NULL, handle, CU_GRAPH_COND_TYPE_WHILE, 1);
  CHECK(cuStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cuLaunchKernel(add_one, COUNT / 256, 1, 1, 256, 1, 1, 0, stream, list, NULL));
  CHECK(cuLaunchKernel(count_down, 1, 1, 1, 1, 1, 1, 0, stream, deciding, NULL));
  CHECK(cuStreamEndCapture(stream, &body));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  use_others(4, 4);
  say_word(5);
  CHECK(cuGraphLaunch(exec, stream));
  expected[4] += 5;
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
}

/* One of the blocks 5 to 7, and block 8 inside the last body. */
static void one_of_several(void) {
  CUgraph graph;
  CUgraphExec exec;
  CHECK(cuGraphCreate(&graph, 0));
  const CUgraphConditionalHandle handle = handle_for(graph, 9), nested = handle_for(graph, 1);
  CUgraph* const bodies =
      conditional(graph, then_decide(graph, NULL, decide_by, handle), handle, CU_GRAPH_COND_TYPE_SWITCH, 3);
  for (int i = 0; i < 3; ++i) then_add(bodies[i], NULL, 5 + i);
  then_add(*conditional(bodies[2], NULL, nested, CU_GRAPH_COND_TYPE_IF, 1), NULL, 8);
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  for (int which = 0; which < 4; ++which) {
    use_others(5, 8);
    say_word(which);
    CHECK(cuGraphLaunch(exec, stream));
    if (which < 3) ++expected[5 + which];
    if (which == 2) ++expected[8];
  }
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
}

static int compare(void) {
  for (int i = 0; i < BLOCKS - 1; ++i) {
    if (!block_holds(block[i], COUNT, i, expected[i])) return 1;
  }
  puts("ok");
  return 0;
}

int main(int argc, char** argv) {
  CUmodule module, deciding;
  if (argc != 3) {
    fprintf(stderr, "usage: conditional_graphs KERNELS DECIDING_KERNELS\n");
    return 2;
  }
  open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  CHECK(cuModuleLoad(&deciding, argv[2]));
  CHECK(cuModuleGetFunction(&decide_by, deciding, "decide_by"));
  CHECK(cuModuleGetFunction(&count_down, deciding, "count_down"));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], BYTES));
    CHECK(cuMemsetD32Async(block[i], 0, COUNT, stream));
  }
  if_and_else();
  repeatedly();
  one_of_several();
  CHECK(cuStreamSynchronize(stream));
  return compare();
}
