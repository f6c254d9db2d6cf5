/* Kernels launched as the CUDA runtime launches them: by handles of a library's kernels, over more memory than a small
 * device holds.
 *
 * Usage: kernel_handles KERNELS [launches|graphs]. Blocks of numbers are added to in turn, in a different way each
 * time, so that each launch finds its block evicted; at the end all numbers are compared. The parameters of a launch
 * end where readable memory ends: nothing may read beyond them. Prints "ok" or what failed.
 */
#define _DEFAULT_SOURCE
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 19)
#define PAGE 4096

static CUdeviceptr block[BLOCKS];
static int expected[BLOCKS];
static CUcontext context;
static CUstream stream;
static CUkernel add_one, add_to_lists, nothing;
static const unsigned grid = (COUNT + 255) / 256;

struct lists {
  int count;
  CUdeviceptr targets[3], source;
};

/* Ends of readable memory: for a list of pointers, and for their targets. */
static char *list_end, *value_end[2];

static char* end_of_memory(void) {
  char* const pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE) != 0) exit(1);
  return pages + PAGE;
}

static void** given(int count, const void* const* values, const size_t* bytes) {
  void** const list = (void**)list_end - count;
  for (int i = 0; i < count; ++i) {
    list[i] = value_end[i] - bytes[i];
    memcpy(list[i], values[i], bytes[i]);
  }
  return list;
}

static void** numbers(CUdeviceptr target, int count) {
  const void* const values[] = {&target, &count};
  const size_t bytes[] = {sizeof(target), sizeof(count)};
  return given(2, values, bytes);
}

static void** numbers_of(int to) {
  ++expected[to];
  return numbers(block[to], COUNT);
}

static void launch(CUfunction function, void** parameters) {
  CHECK(cuLaunchKernel(function, grid, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

/* ---- launches ------------------------------------------------------------------------------------ */

static void by_kernel(int to) { launch((CUfunction)add_one, numbers_of(to)); }

static void by_its_function(int to) {
  CUfunction function;
  CHECK(cuKernelGetFunction(&function, add_one));
  launch(function, numbers_of(to));
}

static void by_buffer(int to) {
  struct {
    CUdeviceptr target;
    int count;
  } packed = {block[to], COUNT};
  size_t bytes = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  CHECK(cuLaunchKernel((CUfunction)add_one, grid, 1, 1, 256, 1, 1, 0, stream, NULL, extra));
  ++expected[to];
}

static void by_config(int to) {
  CUlaunchConfig config;
  memset(&config, 0, sizeof(config));
  config.gridDimX = grid;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 256;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  CHECK(cuLaunchKernelEx(&config, (CUfunction)add_one, numbers_of(to), NULL));
}

/* Only as many blocks as run at the same time, so each launch covers a piece. */
static void by_cooperation(int to) {
  int each, processors;
  CHECK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, (CUfunction)add_one, 256, 0));
  const unsigned resident = (unsigned)(each * processors);
  for (unsigned first = 0; first < grid; first += resident) {
    const unsigned blocks = grid - first < resident ? grid - first : resident;
    const CUdeviceptr piece = block[to] + (CUdeviceptr)first * 256 * sizeof(int);
    const int count = (int)blocks * 256;
    CHECK(cuLaunchCooperativeKernel((CUfunction)add_one, blocks, 1, 1, 256, 1, 1, 0, stream, numbers(piece, count)));
  }
  ++expected[to];
}

static void by_struct(int to) {
  const int a = (to + 1) % BLOCKS, b = (to + 2) % BLOCKS, source = (to + 3) % BLOCKS;
  const struct lists lists = {COUNT, {block[to], block[a], block[b]}, block[source]};
  const void* const values[] = {&lists};
  const size_t bytes[] = {sizeof(lists)};
  launch((CUfunction)add_to_lists, given(1, values, bytes));
  expected[to] += expected[source];
  expected[a] += expected[source];
  expected[b] += expected[source];
}

static void without_parameters(int to) {
  CUfunction function;
  CHECK(cuKernelGetFunction(&function, nothing));
  launch((CUfunction)nothing, NULL);
  launch(function, NULL);
  by_kernel(to);
}

/* ---- graphs -------------------------------------------------------------------------------------- */

static CUDA_KERNEL_NODE_PARAMS node_of(CUfunction func, CUkernel kern, int to) {
  CUDA_KERNEL_NODE_PARAMS params;
  memset(&params, 0, sizeof(params));
  params.func = func;
  params.kern = kern;
  params.gridDimX = grid;
  params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = 256;
  params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = numbers_of(to);
  return params;
}

static CUgraphExec instantiated(CUgraph graph) {
  CUgraphExec exec;
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphDestroy(graph));
  return exec;
}

static void launch_once(CUgraphExec exec) {
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuGraphExecDestroy(exec));
}

static void by_capture(int to) {
  CUgraph graph;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  by_kernel(to);
  CHECK(cuStreamEndCapture(stream, &graph));
  launch_once(instantiated(graph));
}

static void by_captured_buffer(int to) {
  CUgraph graph;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  by_buffer(to);
  CHECK(cuStreamEndCapture(stream, &graph));
  launch_once(instantiated(graph));
}

static void by_node(CUfunction func, CUkernel kern, int to) {
  CUDA_KERNEL_NODE_PARAMS params = node_of(func, kern, to);
  CUgraphNode node;
  CUgraph graph;
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
  launch_once(instantiated(graph));
}

static void by_node_of_kernel(int to) { by_node(NULL, add_one, to); }
static void by_node_of_function(int to) {
  CUfunction function;
  CHECK(cuKernelGetFunction(&function, add_one));
  by_node(function, NULL, to);
}

/* The node is created with another block and another kind of handle. */
static void by_changed_node(int to) {
  const int other = (to + 1) % BLOCKS;
  CUDA_KERNEL_NODE_PARAMS params = node_of(NULL, add_one, other);
  CUfunction function;
  CUgraphNode node;
  CUgraphExec exec;
  CUgraph graph;
  --expected[other];
  CHECK(cuKernelGetFunction(&function, add_one));
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  params = node_of(function, NULL, to);
  CHECK(cuGraphExecKernelNodeSetParams(exec, node, &params));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  params = node_of(NULL, add_one, other);
  CHECK(cuGraphExecKernelNodeSetParams(exec, node, &params));
  launch_once(exec);
  CHECK(cuGraphDestroy(graph));
}

/* -------------------------------------------------------------------------------------------------- */

static void (*const launches[])(int) = {by_kernel,      by_its_function, by_buffer,         by_config,
                                        by_cooperation, by_struct,       without_parameters};
static void (*const graphs[])(int) = {by_capture, by_captured_buffer, by_node_of_kernel, by_node_of_function,
                                      by_changed_node};

static void by_each(void (*const ways[])(int), int count) {
  for (int round = 0; round < 3 * BLOCKS; ++round) ways[round % count](round % BLOCKS);
  CHECK(cuStreamSynchronize(stream));
}

static void load(const char* file) {
  CUlibrary library;
  CHECK(cuLibraryLoadFromFile(&library, file, NULL, NULL, 0, NULL, NULL, 0));
  CHECK(cuLibraryGetKernel(&add_one, library, "add_one"));
  CHECK(cuLibraryGetKernel(&add_to_lists, library, "add_to_lists"));
  CHECK(cuLibraryGetKernel(&nothing, library, "nothing"));
}

int main(int argc, char** argv) {
  const char* const which = argc > 2 ? argv[2] : "";
  if (argc < 2) {
    fprintf(stderr, "usage: kernel_handles KERNELS [launches|graphs]\n");
    return 2;
  }
  open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  load(argv[1]);
  list_end = end_of_memory();
  value_end[0] = end_of_memory();
  value_end[1] = end_of_memory();
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    expected[i] = i;
    CHECK(cuMemsetD32(block[i], (unsigned)i, COUNT));
  }
  if (strcmp(which, "graphs") != 0) by_each(launches, sizeof(launches) / sizeof(launches[0]));
  if (strcmp(which, "launches") != 0) by_each(graphs, sizeof(graphs) / sizeof(graphs[0]));
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, expected[i])) return 1;
  }
  puts("ok");
  return 0;
}
