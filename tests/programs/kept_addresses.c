/* Gives one block each to every call that retains an address after it returns.
 *
 * All blocks are written first, followed by enough others to evict all of them from a small device. Prints the result
 * of each call, "call: CUresult"; a driver may support few of them. Exits with 0 if every call was made.
 */
#include <cuda.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES ((size_t)2 << 20)
#define BLOCKS 13
#define OTHERS 6
#define MAPS (1 << 16) /* as many as are remembered */

static void say(const char* call, CUresult result) {
  const char* name = "?";
  cuGetErrorName(result, &name);
  printf("%s: %s\n", call, name);
}

static void must(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  say("setup", result);
  exit(1);
}

static CUdeviceptr blocks[BLOCKS + OTHERS];

static CUdeviceptr block(void) {
  static int next;
  if (next == BLOCKS) exit(2);
  return blocks[next++];
}

static void textures(void) {
  CUDA_RESOURCE_DESC resource;
  CUDA_TEXTURE_DESC reading;
  CUtexObject texture;
  memset(&resource, 0, sizeof(resource));
  memset(&reading, 0, sizeof(reading));
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = block();
  resource.res.linear.format = CU_AD_FORMAT_FLOAT;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = BYTES;
  say("cuTexObjectCreate", cuTexObjectCreate(&texture, &resource, &reading, NULL));
}

static CUresult encode(CUtensorMap* map, CUdeviceptr tensor, cuuint64_t rows) {
  const cuuint64_t sizes[] = {1024, rows}, strides[] = {4096};
  const cuuint32_t box[] = {32, 8}, steps[] = {1, 1};
  return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void*)tensor, sizes, strides, box, steps,
                                CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* Maps are recognised by their bytes, up to a limit; those of freed blocks are dropped first. So only the last of
 * these blocks has to stay. */
static void tensor_maps(void) {
  CUtensorMap map;
  CUdeviceptr freed = block(), many = block(), last = block();
  for (cuuint64_t i = 0; i < 1000; ++i) must(encode(&map, freed, 1 + i));
  say("cuTensorMapEncodeTiled", encode(&map, block(), 512));
  say("cuTensorMapReplaceAddress", cuTensorMapReplaceAddress(&map, (void*)block()));
  must(cuMemFree(freed));
  for (cuuint64_t i = 0; i < MAPS - 2; ++i) must(encode(&map, many, 1 + i));
  must(encode(&map, last, 1));
}

static void words(CUstream stream) {
  CUstreamBatchMemOpParams operation;
  memset(&operation, 0, sizeof(operation));
  operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operation.writeValue.address = block();
  say("cuStreamWriteValue32", cuStreamWriteValue32(stream, block(), 1, 0));
  say("cuStreamWriteValue64", cuStreamWriteValue64(stream, block(), 1, 0));
  say("cuStreamBatchMemOp", cuStreamBatchMemOp(stream, 1, &operation, 0));
}

/* For other processes, network cards and storage. */
static void sharing(void) {
  CUipcMemHandle handle;
  CUdeviceptr synchronous = block();
  unsigned yes = 1;
  int told = -1;
  int file;
  say("cuIpcGetMemHandle", cuIpcGetMemHandle(&handle, block()));
  say("cuMemGetHandleForAddressRange",
      cuMemGetHandleForAddressRange(&file, block(), BYTES, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
  if (cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, synchronous) == CUDA_SUCCESS) {
    must(cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, synchronous));
    if (told != 1) exit(3);
  }
}

/* The device launches such a graph by itself. */
static void graph_of_the_device(CUcontext context) {
  CUDA_MEMSET_NODE_PARAMS set;
  CUgraph graph;
  CUgraphNode node;
  CUgraphExec exec;
  memset(&set, 0, sizeof(set));
  set.dst = block();
  set.elementSize = 1;
  set.width = BYTES;
  set.height = 1;
  must(cuGraphCreate(&graph, 0));
  must(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
  say("cuGraphInstantiate", cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
}

int main(void) {
  CUdevice device;
  CUcontext context;
  CUstream stream;
  must(cuInit(0));
  must(cuDeviceGet(&device, 0));
  must(cuDevicePrimaryCtxRetain(&context, device));
  must(cuCtxSetCurrent(context));
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < BLOCKS + OTHERS; ++i) {
    must(cuMemAlloc(&blocks[i], BYTES));
    must(cuMemsetD8(blocks[i], (unsigned char)i, BYTES));
  }
  textures();
  tensor_maps();
  words(stream);
  sharing();
  graph_of_the_device(context);
  must(cuStreamDestroy(stream));
  return 0;
}
