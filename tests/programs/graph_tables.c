/* A graph that copies a table of addresses from pinned memory, and a kernel of it that gets the table alone.
 *
 * Usage: graph_tables KERNELS table|numbers|parts
 * table: the table has nothing but addresses, which the kernel needs: a launch is out of memory where they do not fit
 *   together, and nothing of it has run. numbers: the copy holds other words as well, so nothing says that the kernel
 *   needs what its words name, and it does not. parts: as table, and other nodes need so much that the graph is
 *   launched in parts. After a launch that is out of memory the table is shorter, and the launch is right.
 * Prints "ok" or "out of memory, then ok", or what failed.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define BYTES (2 << 20)
#define COUNT (BYTES / (int)sizeof(int))
#define BLOCKS 8 /* that the table names: more than a small device holds */
#define FEW 2    /* likewise, at the second try */
#define OTHERS 6

static CUmodule module;
static CUstream stream;
static CUdeviceptr block[BLOCKS], other[OTHERS], table;
static CUdeviceptr* source; /* pinned */
static int expected, used;  /* of the blocks that the kernel adds to */

static void launch(const char* name, int threads, void** parameters) {
  CUfunction function;
  const unsigned size = threads < 256 ? (unsigned)threads : 256;
  CHECK(cuModuleGetFunction(&function, module, name));
  CHECK(cuLaunchKernel(function, ((unsigned)threads + size - 1) / size, 1, 1, size, 1, 1, 0, stream, parameters, NULL));
}

static CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr address;
  CHECK(cuMemAlloc(&address, bytes));
  CHECK(cuMemsetD32(address, 0, bytes / 4));
  CHECK(cuCtxSynchronize());
  return address;
}

static void add_to(CUdeviceptr target) {
  int value = 1, count = COUNT;
  void* parameters[] = {&target, &value, &count};
  launch("add_to", COUNT, parameters);
}

static CUgraphExec capture(int words, int count, int parts) {
  CUgraph graph;
  CUgraphExec exec;
  int size = COUNT, one = 1;
  void* parameters[] = {&table, &count, &size, &one};
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (int i = 0; parts && i < OTHERS; ++i) add_to(other[i]);
  CHECK(cuMemcpyHtoDAsync(table, source, (size_t)words * sizeof(*source), stream));
  launch("add_to_all", COUNT, parameters);
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphDestroy(graph));
  return exec;
}

/* Between launches the blocks have left. */
static CUresult launch_graph(CUgraphExec exec) {
  for (int i = 0; i < 3 * OTHERS; ++i) CHECK(cuMemsetD32Async(other[i % OTHERS], 0, COUNT, stream));
  CHECK(cuStreamSynchronize(stream));
  const CUresult result = cuGraphLaunch(exec, stream);
  CHECK(cuStreamSynchronize(stream));
  return result;
}

static int all_hold(int others) {
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, i < used ? expected : 0)) return 0;
  }
  for (int i = 0; i < OTHERS; ++i) {
    if (!block_holds(other[i], COUNT, 100 + i, others)) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  CUcontext context;
  if (argc != 3) return 2;
  const int parts = strcmp(argv[2], "parts") == 0, numbers = strcmp(argv[2], "numbers") == 0;
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemHostAlloc((void**)&source, 4096, 0));
  table = allocate(4096);
  for (int i = 0; i < BLOCKS; ++i) block[i] = allocate(BYTES);
  for (int i = 0; i < OTHERS; ++i) other[i] = allocate(BYTES);
  memcpy(source, block, sizeof(block));
  source[BLOCKS] = 12345;
  used = numbers ? FEW : BLOCKS;
  expected = 1;
  const CUgraphExec exec = capture(numbers ? BLOCKS + 1 : BLOCKS, used, parts);
  const CUresult result = launch_graph(exec);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    expected = 0;
    if (!all_hold(0)) return 1;
    const CUgraphExec shorter = capture(FEW, FEW, parts);
    used = FEW;
    expected = 1;
    CHECK(launch_graph(shorter));
    fputs("out of memory, then ", stdout);
  } else {
    CHECK(result);
  }
  puts(all_hold(parts) ? "ok" : "wrong");
  return 0;
}
