/* Copies blocks through an array, with every call that reads or writes one, also in a graph.
 *
 * Prints "ok" if each target has the contents of its source.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define WIDTH 1024
#define COUNT (WIDTH * WIDTH)
#define BYTES (COUNT * sizeof(int))
#define PAIRS 8

static CUarray array;
static CUstream stream;
static CUdeviceptr source[PAIRS], target[PAIRS];

/* A copy of the whole array: one end is the array, the other a block. */
static CUDA_MEMCPY2D rectangle(CUdeviceptr block, int into) {
  CUDA_MEMCPY2D copy;
  memset(&copy, 0, sizeof(copy));
  copy.srcMemoryType = into ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_ARRAY;
  copy.dstMemoryType = into ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;
  copy.srcArray = copy.dstArray = array;
  copy.srcDevice = copy.dstDevice = block;
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = WIDTH * sizeof(int);
  copy.Height = WIDTH;
  return copy;
}

static CUDA_MEMCPY3D box(CUdeviceptr block, int into) {
  CUDA_MEMCPY3D copy;
  memset(&copy, 0, sizeof(copy));
  copy.srcMemoryType = into ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_ARRAY;
  copy.dstMemoryType = into ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;
  copy.srcArray = copy.dstArray = array;
  copy.srcDevice = copy.dstDevice = block;
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = WIDTH * sizeof(int);
  copy.srcHeight = copy.dstHeight = copy.Height = WIDTH;
  copy.Depth = 1;
  return copy;
}

static void by_graph(int pair) {
  const CUDA_MEMCPY3D into = box(source[pair], 1), out = box(target[pair], 0);
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode first, second;
  CUcontext context;
  CHECK(cuCtxGetCurrent(&context));
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddMemcpyNode(&first, graph, NULL, 0, &into, context));
  CHECK(cuGraphAddMemcpyNode(&second, graph, &first, 1, &out, context));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
}

static void through_array(int pair) {
  const CUDA_MEMCPY2D flat_in = rectangle(source[pair], 1), flat_out = rectangle(target[pair], 0);
  const CUDA_MEMCPY3D box_in = box(source[pair], 1), box_out = box(target[pair], 0);
  switch (pair % 4) {
    case 0:
      CHECK(cuMemcpy2D(&flat_in));
      CHECK(cuMemcpy2DUnaligned(&flat_out));
      break;
    case 1:
      CHECK(cuMemcpy2DAsync(&flat_in, stream));
      CHECK(cuMemcpy2DAsync(&flat_out, stream));
      break;
    case 2:
      CHECK(cuMemcpy3DAsync(&box_in, stream));
      CHECK(cuMemcpy3DAsync(&box_out, stream));
      break;
    default: by_graph(pair);
  }
}

/* Linear copies, each within one row. */
static int lines(void) {
  int words[WIDTH];
  CHECK(cuMemcpyDtoA(array, 0, source[PAIRS - 1], sizeof(words)));
  CHECK(cuMemsetD32(target[0], 99, WIDTH));
  CHECK(cuMemcpyAtoD(target[0], array, 0, sizeof(words)));
  CHECK(cuMemcpyDtoH(words, target[0], sizeof(words)));
  for (int i = 0; i < WIDTH; ++i) {
    if (words[i] != PAIRS - 1) return 1;
  }
  return 0;
}

int main(void) {
  CUDA_ARRAY_DESCRIPTOR shape = {WIDTH, WIDTH, CU_AD_FORMAT_SIGNED_INT32, 1};
  CUcontext context;
  open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuArrayCreate(&array, &shape));
  for (int i = 0; i < PAIRS; ++i) {
    CHECK(cuMemAlloc(&source[i], BYTES));
    CHECK(cuMemAlloc(&target[i], BYTES));
    CHECK(cuMemsetD32(source[i], (unsigned)i, COUNT));
    CHECK(cuMemsetD32(target[i], 99, COUNT));
  }
  CHECK(cuCtxSynchronize());
  for (int i = 0; i < PAIRS; ++i) through_array(i);
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < PAIRS; ++i) {
    if (!block_holds(target[i], COUNT, i, i)) return 1;
  }
  if (lines() != 0) return 1;
  puts("ok");
  return 0;
}
