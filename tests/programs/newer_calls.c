/* Calls newer than CUDA 13.0, over more memory than a small device holds.
 *
 * Usage: newer_calls KERNELS. Each is looked up by the version that introduced it, as by the CUDA runtime. Blocks of
 * numbers are copied and added to by one call after another, so that each finds its blocks evicted; at the end all
 * numbers are compared. Prints "ok" or what failed.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "newer_cuda.h"

#define BLOCKS 12
#define COUNT (1 << 19)
#define BYTES (COUNT * sizeof(int))
#define TABLE 3

static PFN_cuMemcpyWithAttributesAsync_v13020 copy_with_attributes;
static PFN_cuMemcpy3DWithAttributesAsync_v13020 copy_box_with_attributes;
static PFN_cuFabricCpyBatchAsync_v13050 copy_over_fabric;
static PFN_cuLaunchHostFunc_v13010 call_host;
static PFN_cuGraphAddNode_v13040 add_node;
static PFN_cuGraphNodeSetParams_v13040 set_node;
static PFN_cuStreamBeginRecaptureToGraph_v13030 capture_again;
static PFN_cuTensorMapSetAllocationClass_v13050 set_class;

static CUdeviceptr block[BLOCKS], table;
static int expected[BLOCKS];
static CUstream stream;
static CUfunction add_one, add_by_table, add_by_map;
static CUmemcpyAttributes attributes;

static void* newer(const char* name, int version) {
  void* found = NULL;
  CHECK(cuGetProcAddress(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, NULL));
  if (found == NULL) {
    fprintf(stderr, "%s of %d is missing\n", name, version);
    exit(1);
  }
  return found;
}

static void find_calls(void) {
  copy_with_attributes = (PFN_cuMemcpyWithAttributesAsync_v13020)newer("cuMemcpyWithAttributesAsync", 13020);
  copy_box_with_attributes = (PFN_cuMemcpy3DWithAttributesAsync_v13020)newer("cuMemcpy3DWithAttributesAsync", 13020);
  copy_over_fabric = (PFN_cuFabricCpyBatchAsync_v13050)newer("cuFabricCpyBatchAsync", 13050);
  call_host = (PFN_cuLaunchHostFunc_v13010)newer("cuLaunchHostFunc", 13010);
  add_node = (PFN_cuGraphAddNode_v13040)newer("cuGraphAddNode", 13040);
  set_node = (PFN_cuGraphNodeSetParams_v13040)newer("cuGraphNodeSetParams", 13040);
  capture_again = (PFN_cuStreamBeginRecaptureToGraph_v13030)newer("cuStreamBeginRecaptureToGraph", 13030);
  set_class = (PFN_cuTensorMapSetAllocationClass_v13050)newer("cuTensorMapSetAllocationClass", 13050);
}

static void launch(CUfunction function, void** parameters) {
  CHECK(cuLaunchKernel(function, COUNT / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

static void add_to(int to) {
  int count = COUNT;
  void* parameters[] = {&block[to], &count};
  launch(add_one, parameters);
  ++expected[to];
}

/* Afterwards none of the first blocks is resident on a small device. */
static void use_the_others(void) {
  for (int i = BLOCKS / 2; i < BLOCKS; ++i) add_to(i);
}

static void copies_along_a_line(void) {
  int* const numbers = malloc(BYTES);
  for (int i = 0; i < COUNT; ++i) numbers[i] = 1000;
  CHECK(copy_with_attributes(block[0], (CUdeviceptr)numbers, BYTES, &attributes, stream));
  use_the_others();
  CHECK(copy_with_attributes(block[1], block[0], BYTES, &attributes, stream));
  expected[0] = expected[1] = 1000;
  add_to(1);
  use_the_others();
  CHECK(copy_with_attributes((CUdeviceptr)numbers, block[1], BYTES, &attributes, stream));
  CHECK(cuStreamSynchronize(stream));
  if (numbers[0] != 1001 || numbers[COUNT - 1] != 1001) exit(3);
  free(numbers);
}

/* Addresses written by such a copy form a table, like those of any other copy. */
static void a_copied_table(void) {
  CUdeviceptr words[TABLE] = {block[0], block[2], block[4]};
  int used = TABLE, count = COUNT;
  void* parameters[] = {&table, &used, &count};
  CHECK(copy_with_attributes(table, (CUdeviceptr)words, sizeof(words), &attributes, stream));
  use_the_others();
  launch(add_by_table, parameters);
  for (int i = 0; i < TABLE; ++i) ++expected[2 * i];
}

static CUmemcpy3DOperand rows_of(CUdeviceptr at) {
  CUmemcpy3DOperand operand;
  memset(&operand, 0, sizeof(operand));
  operand.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  operand.op.ptr.ptr = at;
  return operand;
}

static void a_copy_of_a_box(void) {
  CUDA_MEMCPY3D_BATCH_OP copy;
  memset(&copy, 0, sizeof(copy));
  copy.src = rows_of(block[1]);
  copy.dst = rows_of(block[2]);
  copy.extent.width = BYTES / 512;
  copy.extent.height = 256;
  copy.extent.depth = 2;
  copy.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  use_the_others();
  CHECK(copy_box_with_attributes(&copy, 0, stream));
  expected[2] = expected[1];
}

static CUfabricCpyOperand place_at(CUdeviceptr at) {
  CUfabricCpyOperand operand;
  memset(&operand, 0, sizeof(operand));
  operand.type = CU_FABRIC_COPY_OPERAND_TYPE_POINTER;
  operand.op.ptr.ptr = at;
  return operand;
}

static void a_batch_over_fabric(void) {
  CUDA_FABRIC_COPY_BATCH_OP copies[2];
  memset(copies, 0, sizeof(copies));
  for (int i = 0; i < 2; ++i) {
    copies[i].src = place_at(block[i]);
    copies[i].dst = place_at(block[3 + i]);
    copies[i].size = BYTES;
    expected[3 + i] = expected[i];
  }
  use_the_others();
  CHECK(copy_over_fabric(2, copies, 0, stream));
}

static void CUDA_CB count_call(void* counter) { ++*(int*)counter; }

static void a_call_of_the_host(void) {
  int calls = 0;
  CHECK(call_host(stream, count_call, &calls, 0));
  CHECK(cuStreamSynchronize(stream));
  if (calls != 1) exit(4);
}

/* A node that copies two blocks; the lists live as long as the call that gets the parameters. */
struct batch {
  CUdeviceptr to[2], from[2];
  size_t sizes[2], first;
};
static CUgraphNodeParams batch_between(struct batch* batch, int to, int from) {
  CUDA_MEMCPY_BATCH_NODE_PARAMS copies;
  CUgraphNodeParams params;
  for (int i = 0; i < 2; ++i) {
    batch->to[i] = block[to + i];
    batch->from[i] = block[from + i];
    batch->sizes[i] = BYTES;
  }
  batch->first = 0;
  memset(&copies, 0, sizeof(copies));
  copies.count = 2;
  copies.dsts = batch->to;
  copies.srcs = batch->from;
  copies.sizes = batch->sizes;
  copies.attrs = &attributes;
  copies.attrsIdxs = &batch->first;
  copies.numAttrs = 1;
  memset(&params, 0, sizeof(params));
  params.type = (CUgraphNodeType)TESSERA_NODE_TYPE_MEMCPY_BATCH;
  memcpy(params.reserved1, &copies, sizeof(copies));
  return params;
}

static void expect_batch(int to, int from) {
  for (int i = 0; i < 2; ++i) expected[to + i] = expected[from + i];
}

/* Three nodes, which together need more than the device holds. */
static void batches_in_a_graph(void) {
  struct batch batch;
  CUgraph graph;
  CUgraphNode node[3];
  CUgraphExec exec;
  CHECK(cuGraphCreate(&graph, 0));
  for (int i = 0; i < 3; ++i) {
    CUgraphNodeParams params = batch_between(&batch, 4 * i + 2, 4 * i);
    CHECK(add_node(&node[i], graph, i == 0 ? NULL : &node[i - 1], NULL, i == 0 ? 0 : 1, &params));
    expect_batch(4 * i + 2, 4 * i);
  }
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  use_the_others();
  for (int i = 0; i < 3; ++i) expect_batch(4 * i + 2, 4 * i);
  CHECK(cuGraphLaunch(exec, stream));

  CUgraphNodeParams other = batch_between(&batch, 0, 10);
  CHECK(cuGraphExecNodeSetParams(exec, node[2], &other));
  use_the_others();
  for (int i = 0; i < 2; ++i) expect_batch(4 * i + 2, 4 * i);
  expect_batch(0, 10);
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuGraphExecDestroy(exec));

  CUgraphNodeParams another = batch_between(&batch, 8, 0);
  CHECK(set_node(node[0], &another));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  use_the_others();
  expect_batch(8, 0);
  for (int i = 1; i < 3; ++i) expect_batch(4 * i + 2, 4 * i);
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
}

static CUresult CUDA_CB allow(void* calls, CUgraphNode node, const CUgraphNodeParams* original,
                              const CUgraphNodeParams* recaptured, CUgraphRecaptureStatus status) {
  ++*(int*)calls;
  return node != NULL && original->type == recaptured->type && status == CU_GRAPH_RECAPTURE_ELIGIBLE_FOR_UPDATE
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

static void copy_and_add(int to, int from) {
  int count = COUNT;
  void* parameters[] = {&block[to], &count};
  CHECK(copy_with_attributes(block[to], block[from], BYTES, &attributes, stream));
  launch(add_one, parameters);
}

/* The same graph with other blocks; its executable is updated with it. */
static void a_graph_captured_again(void) {
  CUgraph graph, same;
  CUgraphExec exec;
  CUgraphExecUpdateResultInfo outcome;
  int calls = 0;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  copy_and_add(0, 1);
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
  expected[0] = expected[1] + 1;
  use_the_others();

  CHECK(capture_again(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, graph, allow, &calls));
  copy_and_add(5, 3);
  CHECK(cuStreamEndCapture(stream, &same));
  if (same != graph || calls < 1) exit(5);
  CHECK(cuGraphExecUpdate(exec, graph, &outcome));
  use_the_others();
  CHECK(cuGraphLaunch(exec, stream));
  expected[5] = expected[3] + 1;
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
}

/* Its bytes are different afterwards. */
static void a_tensor_map_of_another_class(void) {
  const cuuint64_t sizes[] = {1024, 256}, strides[] = {4096};
  const cuuint32_t box[] = {32, 8}, steps[] = {1, 1};
  CUtensorMap map;
  CUtensorMapAllocClass given;
  int count = COUNT;
  void* parameters[] = {&map, &count};
  CHECK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, (void*)block[1], sizes, strides, box, steps,
                               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  CHECK(set_class(&map, CU_TENSOR_MAP_ALLOC_CLASS_LARGE, &given));
  use_the_others();
  launch(add_by_map, parameters);
  ++expected[1];
}

static void load(const char* file) {
  CUmodule module;
  CHECK(cuModuleLoad(&module, file));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  CHECK(cuModuleGetFunction(&add_by_table, module, "add_by_table"));
  CHECK(cuModuleGetFunction(&add_by_map, module, "add_by_map"));
}

int main(int argc, char** argv) {
  CUcontext context;
  if (argc != 2) return 2;
  open_device(&context);
  find_calls();
  load(argv[1]);
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&table, 4096));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], BYTES));
    CHECK(cuMemsetD32Async(block[i], (unsigned)i, COUNT, stream));
    expected[i] = i;
  }
  copies_along_a_line();
  a_copied_table();
  a_copy_of_a_box();
  a_batch_over_fabric();
  a_call_of_the_host();
  batches_in_a_graph();
  a_graph_captured_again();
  a_tensor_map_of_another_class();
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, expected[i])) return 1;
  }
  puts("ok");
  return 0;
}
