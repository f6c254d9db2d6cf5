/* Allocates device memory outside Tessera's heap, by calls that the driver serves itself. With the heap full of live or
 * of freed blocks, each call must still get the memory that it needs, and memory that it frees must be usable by the
 * heap again.
 *
 *   driver_memory KERNELS HEAP WHAT
 *
 * HEAP is "freed" or "live": blocks of 3/4 of the device were allocated and written, and then freed, or stay in use to
 * the end. WHAT is the kind of memory: "create" (cuMemCreate), "pool" (the program's own), "context" (a second one,
 * with memory), "module", "library" (a kernel with code loaded at its first launch), "local" (local memory, at the
 * first launch of a context), "graph" (an allocation node), "capture" (an allocation on a capturing stream is attempted
 * once, and fails).
 *
 * Prints "ok" if each call got its memory and every live block kept its bytes.
 *
 * Thread safety: one thread.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { BLOCKS = 12 };

static CUdevice device;
static CUcontext context;
static CUstream stream;
static CUdeviceptr blocks[BLOCKS];
static size_t each, want;

static void make_blocks(void) {
  for (unsigned i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&blocks[i], each));
    CHECK(cuMemsetD32(blocks[i], i + 1, each / 4));
  }
}

static int blocks_hold(void) {
  for (unsigned i = 0; i < BLOCKS; ++i) {
    if (!block_holds(blocks[i], (int)(each / 4), (int)i, (int)i + 1)) return 0;
  }
  return 1;
}

static void free_blocks(void) {
  for (unsigned i = 0; i < BLOCKS; ++i) CHECK(cuMemFree(blocks[i]));
}

static void take_by_create(void) {
  CUmemAllocationProp properties;
  CUmemGenericAllocationHandle handle;
  memset(&properties, 0, sizeof(properties));
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  CHECK(cuMemCreate(&handle, want, &properties, 0));
  CHECK(cuMemRelease(handle));
}

static void take_from_pool(void) {
  CUmemoryPool pool;
  CUmemPoolProps properties;
  CUdeviceptr block;
  memset(&properties, 0, sizeof(properties));
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  CHECK(cuMemPoolCreate(&pool, &properties));
  CHECK(cuMemAllocFromPoolAsync(&block, want, pool, stream));
  CHECK(cuMemFreeAsync(block, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemPoolDestroy(pool));
}

static void take_in_context(void) {
  CUcontext second;
  CUdeviceptr block;
  CHECK(cuCtxCreate(&second, NULL, 0, device));
  CHECK(cuMemAlloc(&block, want));
  CHECK(cuMemsetD8(block, 7, want));
  CHECK(cuMemFree(block));
  CHECK(cuCtxDestroy(second));
  CHECK(cuCtxSetCurrent(context));
}

static void take_for_module(const char* kernels) {
  CUmodule module;
  CHECK(cuModuleLoad(&module, kernels));
  CHECK(cuModuleUnload(module));
}

/* `own` is a separate context: its first launch allocates local memory. */
static void launch_in(CUcontext own, CUfunction function) {
  CUdeviceptr block;
  int count = 256;
  void* parameters[] = {&block, &count};
  CHECK(cuCtxSetCurrent(own));
  CHECK(cuMemAlloc(&block, 1024));
  CHECK(cuMemsetD32(block, 5, 256));
  CHECK(cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
  if (!block_holds(block, 256, 0, 6)) exit(1);
  CHECK(cuMemFree(block));
}

static void take_for_library(const char* kernels) {
  CUlibrary library;
  CUkernel kernel;
  CHECK(cuLibraryLoadFromFile(&library, kernels, NULL, NULL, 0, NULL, NULL, 0));
  CHECK(cuLibraryGetKernel(&kernel, library, "add_one"));
  launch_in(context, (CUfunction)kernel);
  CHECK(cuLibraryUnload(library));
}

static void take_for_graph(void) {
  CUgraph graph;
  CUgraphNode node;
  CUDA_MEM_ALLOC_NODE_PARAMS params;
  memset(&params, 0, sizeof(params));
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  params.poolProps.location.id = device;
  params.bytesize = want;
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuDeviceGraphMemTrim(device));
}

/* A failed call may have left anything in the capture. */
static void take_in_capture(void) {
  CUgraph graph;
  CUdeviceptr block;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  const CUresult taken = cuMemAllocAsync(&block, want, stream);
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphDestroy(graph));
  if (taken != CUDA_ERROR_OUT_OF_MEMORY) exit(1);
}

int main(int argc, char** argv) {
  size_t free_bytes, total, free_after;
  CUmodule module = NULL;
  CUfunction function = NULL;
  if (argc != 4) {
    fprintf(stderr, "usage: driver_memory KERNELS HEAP WHAT\n");
    return 2;
  }
  const char* const what = argv[3];
  const int live = strcmp(argv[2], "live") == 0;
  device = open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  if (strcmp(what, "local") == 0) {
    CHECK(cuModuleLoad(&module, argv[1]));
    CHECK(cuModuleGetFunction(&function, module, "add_one"));
  }
  CHECK(cuMemGetInfo(&free_bytes, &total));
  each = total * 3 / 4 / BLOCKS / ((size_t)2 << 20) * ((size_t)2 << 20);
  want = total / 2;
  make_blocks();
  if (!live) free_blocks();
  if (strcmp(what, "create") == 0) take_by_create();
  if (strcmp(what, "pool") == 0) take_from_pool();
  if (strcmp(what, "context") == 0) take_in_context();
  if (strcmp(what, "module") == 0) take_for_module(argv[1]);
  if (strcmp(what, "library") == 0) take_for_library(argv[1]);
  if (strcmp(what, "local") == 0) launch_in(context, function);
  if (strcmp(what, "graph") == 0) take_for_graph();
  if (strcmp(what, "capture") == 0) take_in_capture();
  if (live && !blocks_hold()) return 1;
  if (live) free_blocks();
  /* Memory returned to the driver is usable by the heap again. */
  make_blocks();
  if (!blocks_hold()) return 1;
  free_blocks();
  CHECK(cuMemGetInfo(&free_after, &total));
  if (strcmp(what, "local") != 0 && free_after != free_bytes) {
    fprintf(stderr, "free was %zu, is %zu\n", free_bytes, free_after);
    return 1;
  }
  puts("ok");
  return 0;
}
