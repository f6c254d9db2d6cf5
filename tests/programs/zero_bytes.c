/* Copies and sets of zero bytes, by every call that can make one, from and to every kind of address.
 *
 * Usage: zero_bytes. One line for each kind of address: how many of the calls succeeded; another line for each that did
 * not. Then the block is unchanged.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define BYTES ((size_t)3 << 20)

static int made, succeeded;

static void count(const char* call, CUresult result) {
  const char* name = "?";
  ++made;
  if (result == CUDA_SUCCESS) {
    ++succeeded;
    return;
  }
  cuGetErrorName(result, &name);
  printf("  %s: %s\n", call, name);
}
#define TRY(call) count(#call, call)

static void along_a_line(CUdeviceptr at, CUcontext context, CUstream stream) {
  char host[8];
  TRY(cuMemcpy(at, (CUdeviceptr)(size_t)host, 0));
  TRY(cuMemcpy(at, at, 0));
  TRY(cuMemcpyAsync(at, (CUdeviceptr)(size_t)host, 0, stream));
  TRY(cuMemcpyHtoD(at, host, 0));
  TRY(cuMemcpyHtoD(at, NULL, 0));
  TRY(cuMemcpyHtoDAsync(at, host, 0, stream));
  TRY(cuMemcpyHtoDAsync(at, NULL, 0, stream));
  TRY(cuMemcpyDtoH(host, at, 0));
  TRY(cuMemcpyDtoH(NULL, at, 0));
  TRY(cuMemcpyDtoHAsync(host, at, 0, stream));
  TRY(cuMemcpyDtoD(at, at, 0));
  TRY(cuMemcpyDtoDAsync(at, at, 0, stream));
  TRY(cuMemcpyPeer(at, context, at, context, 0));
  TRY(cuMemcpyPeerAsync(at, context, at, context, 0, stream));
}

static void sets(CUdeviceptr at, CUstream stream) {
  TRY(cuMemsetD8(at, 1, 0));
  TRY(cuMemsetD16(at, 1, 0));
  TRY(cuMemsetD32(at, 1, 0));
  TRY(cuMemsetD8Async(at, 1, 0, stream));
  TRY(cuMemsetD16Async(at, 1, 0, stream));
  TRY(cuMemsetD32Async(at, 1, 0, stream));
  for (int rows = 0; rows < 2; ++rows) { /* none of 16 bytes, then 16 of no bytes */
    const size_t width = rows == 0 ? 16 : 0, height = rows == 0 ? 0 : 16;
    TRY(cuMemsetD2D8(at, 512, 1, width, height));
    TRY(cuMemsetD2D16(at, 512, 1, width, height));
    TRY(cuMemsetD2D32(at, 512, 1, width, height));
    TRY(cuMemsetD2D8Async(at, 512, 1, width, height, stream));
    TRY(cuMemsetD2D16Async(at, 512, 1, width, height, stream));
    TRY(cuMemsetD2D32Async(at, 512, 1, width, height, stream));
  }
}

static void shapes(CUdeviceptr at, CUcontext context, CUstream stream) {
  for (int side = 0; side < 3; ++side) {
    CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .srcDevice = at,
                         .dstDevice = at,
                         .srcPitch = 512,
                         .dstPitch = 512,
                         .srcHeight = 4,
                         .dstHeight = 4,
                         .WidthInBytes = side == 0 ? 0 : 16,
                         .Height = side == 1 ? 0 : 4,
                         .Depth = side == 2 ? 0 : 2};
    CUDA_MEMCPY3D_PEER peer = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = at,
                               .dstDevice = at,
                               .srcContext = context,
                               .dstContext = context,
                               .srcPitch = 512,
                               .dstPitch = 512,
                               .srcHeight = 4,
                               .dstHeight = 4,
                               .WidthInBytes = box.WidthInBytes,
                               .Height = box.Height,
                               .Depth = box.Depth};
    CUDA_MEMCPY2D rectangle = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = at,
                               .dstDevice = at,
                               .srcPitch = 512,
                               .dstPitch = 512,
                               .WidthInBytes = box.WidthInBytes,
                               .Height = box.Height};
    TRY(cuMemcpy3D(&box));
    TRY(cuMemcpy3DAsync(&box, stream));
    TRY(cuMemcpy3DPeer(&peer));
    TRY(cuMemcpy3DPeerAsync(&peer, stream));
    if (side == 2) continue;
    TRY(cuMemcpy2D(&rectangle));
    TRY(cuMemcpy2DUnaligned(&rectangle));
    TRY(cuMemcpy2DAsync(&rectangle, stream));
  }
}

/* The second copy of the batch is nonempty. */
static void batch(CUdeviceptr at, CUdeviceptr block, CUstream stream) {
  CUdeviceptr to[2] = {at, block + 1024}, from[2] = {at, block};
  size_t bytes[2] = {0, 512}, first = 0;
  CUmemcpyAttributes attributes;
  memset(&attributes, 0, sizeof(attributes));
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  TRY(cuMemcpyBatchAsync(to, from, bytes, 2, &attributes, &first, 1, stream));
}

/* A graph without work, as captured by a program that computes its sizes. */
static void captured(CUdeviceptr at, CUstream stream) {
  CUgraph graph;
  CUgraphExec executable;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  TRY(cuMemcpyDtoDAsync(at, at, 0, stream));
  TRY(cuMemcpyHtoDAsync(at, "", 0, stream));
  TRY(cuMemsetD8Async(at, 1, 0, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiate(&executable, graph, 0));
  TRY(cuGraphLaunch(executable, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuGraphExecDestroy(executable));
  CHECK(cuGraphDestroy(graph));
}

int main(void) {
  CUcontext context;
  CUstream stream;
  CUdeviceptr block, freed;
  open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&block, BYTES));
  CHECK(cuMemAlloc(&freed, BYTES));
  CHECK(cuMemsetD32(block, 7, BYTES / 4));
  CHECK(cuMemFree(freed));
  const struct {
    const char* name;
    CUdeviceptr address;
  } places[] = {{"null", 0}, {"a block", block}, {"its end", block + BYTES}, {"a freed block", freed}};
  for (int i = 0; i < 4; ++i) {
    made = succeeded = 0;
    along_a_line(places[i].address, context, stream);
    sets(places[i].address, stream);
    shapes(places[i].address, context, stream);
    batch(places[i].address, block, stream);
    captured(places[i].address, stream);
    printf("%s: %d of %d\n", places[i].name, succeeded, made);
  }
  CHECK(cuCtxSynchronize());
  puts(block_holds(block, BYTES / 4, 0, 7) ? "ok" : "changed");
  return 0;
}
