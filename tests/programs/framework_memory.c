/* Takes device memory as a framework does: its calls, in their order, with tensors of a few MiB.
 *
 * framework_memory WAY [COUNT]: COUNT tensors of 8 MiB, each written, all read back twice; then freed.
 *   torch-async     PyTorch with backend:cudaMallocAsync, and ComfyUI: the default pool
 *                   (pytorch/pytorch c10/cuda/CUDAMallocAsyncAllocator.cpp)
 *   xla-async       TensorFlow with cuda_malloc_async, JAX with cuda_async: the default pool by name
 *                   (openxla/xla xla/stream_executor/gpu/gpu_cudamallocasync_allocator.cc)
 *   arena           ONNX Runtime's arena: cuMemAlloc of doubling regions, tensors cut from them
 *                   (microsoft/onnxruntime onnxruntime/core/framework/bfc_arena.cc)
 *   torch-segments  PyTorch with expandable_segments:True: a reservation, mapped 20 MiB at a time
 *                   (pytorch/pytorch c10/cuda/CUDACachingAllocator.cpp)
 *   pages-at        kvcached: a reservation near an address, one page of zeros mapped everywhere in it, and pages of
 *                   their own in its place where they are needed (ovg-project/kvcached csrc/ftensor.cpp)
 *   xla-default     JAX from 0.10.2 on: one mapping of all, with a handle that can be exported
 *                   (openxla/xla#41652, #43125)
 *   managed         XLA with TF_FORCE_UNIFIED_MEMORY=1, as AlphaFold 3 sets it: managed memory
 *                   (google-deepmind/alphafold3 docs/performance.md)
 * Prints "ok" if each tensor had the contents that were written.
 */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define TENSOR ((size_t)8 << 20)
#define SEGMENT ((size_t)20 << 20)
#define MOST 64

static CUdevice device;
static CUstream stream;
static CUmemoryPool pool;
static CUdeviceptr tensors[MOST];
static int count = 8;

static void open_pool(void) {
  int supported = 0;
  cuuint64_t all = UINT64_MAX;
  int on = 1;
  CHECK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device));
  if (!supported) exit(1);
  CHECK(cuDeviceGetDefaultMemPool(&pool, device));
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &on));
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &on));
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &on));
}

static void use_all(void) {
  for (int i = 0; i < count; ++i) CHECK(cuMemsetD32Async(tensors[i], (unsigned)i + 1, TENSOR / 4, stream));
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < 2 * count; ++i) {
    if (!block_holds(tensors[i % count], (int)(TENSOR / 4), i % count, i % count + 1)) exit(1);
  }
}

/* ---- from the default pool ---- */

static void torch_async(void) {
  open_pool();
  for (int i = 0; i < count; ++i) CHECK(cuMemAllocAsync(&tensors[i], TENSOR, stream));
  use_all();
  for (int i = 0; i < count; ++i) CHECK(cuMemFreeAsync(tensors[i], stream));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemPoolTrimTo(pool, 0)); /* torch.cuda.empty_cache() */
}

static void xla_async(void) {
  open_pool();
  for (int i = 0; i < count; ++i) CHECK(cuMemAllocFromPoolAsync(&tensors[i], TENSOR, pool, stream));
  use_all();
  for (int i = 0; i < count; ++i) CHECK(cuMemFreeAsync(tensors[i], stream));
}

/* ---- from regions ---- */

static void arena(void) {
  CUdeviceptr regions[MOST];
  size_t region = TENSOR;
  int made = 0;
  for (int i = 0; i < count; region *= 2) {
    CHECK(cuMemAlloc(&regions[made], region));
    for (size_t at = 0; at < region && i < count; at += TENSOR) tensors[i++] = regions[made] + at;
    ++made;
  }
  use_all();
  while (made > 0) CHECK(cuMemFree(regions[--made]));
}

static void managed(void) {
  CUdeviceptr base;
  CHECK(cuMemAllocManaged(&base, (size_t)count * TENSOR, CU_MEM_ATTACH_GLOBAL));
  for (int i = 0; i < count; ++i) tensors[i] = base + (size_t)i * TENSOR;
  use_all();
  CHECK(cuMemFree(base));
}

/* ---- mapped by the program ---- */

static CUmemAllocationProp on_device(void) {
  CUmemAllocationProp properties;
  memset(&properties, 0, sizeof(properties));
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

static CUmemGenericAllocationHandle map_piece(CUdeviceptr at, size_t bytes, const CUmemAllocationProp* properties) {
  CUmemGenericAllocationHandle handle;
  CUmemAccessDesc access;
  memset(&access, 0, sizeof(access));
  access.location = properties->location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemCreate(&handle, bytes, properties, 0));
  CHECK(cuMemMap(at, bytes, 0, handle, 0));
  CHECK(cuMemSetAccess(at, bytes, &access, 1));
  return handle;
}

static void torch_segments(void) {
  CUmemAllocationProp properties = on_device();
  const size_t pieces = ((size_t)count * TENSOR + SEGMENT - 1) / SEGMENT;
  CUmemGenericAllocationHandle handles[MOST];
  CUdeviceptr base;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CHECK(cuMemAddressReserve(&base, MOST * SEGMENT, 0, 0, 0));
  for (size_t i = 0; i < pieces; ++i) handles[i] = map_piece(base + i * SEGMENT, SEGMENT, &properties);
  for (int i = 0; i < count; ++i) tensors[i] = base + (size_t)i * TENSOR;
  use_all();
  CHECK(cuCtxSynchronize());
  for (size_t i = 0; i < pieces; ++i) {
    CHECK(cuMemUnmap(base + i * SEGMENT, SEGMENT));
    CHECK(cuMemRelease(handles[i]));
  }
  CHECK(cuMemAddressFree(base, MOST * SEGMENT));
}

static void pages_at(void) {
  const CUmemAllocationProp properties = on_device();
  const size_t page = (size_t)2 << 20, pages = (size_t)count * TENSOR / page;
  CUmemGenericAllocationHandle zeros, handle;
  CUmemAccessDesc access;
  CUdeviceptr base;
  memset(&access, 0, sizeof(access));
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemAddressReserve(&base, pages * page, page, (CUdeviceptr)0x1f0000000000, 0));
  CHECK(cuMemCreate(&zeros, page, &properties, 0));
  for (size_t i = 0; i < pages; ++i) CHECK(cuMemMap(base + i * page, page, 0, zeros, 0));
  CHECK(cuMemSetAccess(base, pages * page, &access, 1));
  for (size_t i = 0; i < pages; ++i) {
    CHECK(cuMemUnmap(base + i * page, page));
    handle = map_piece(base + i * page, page, &properties);
    CHECK(cuMemRelease(handle)); /* its mapping keeps the memory */
  }
  for (int i = 0; i < count; ++i) tensors[i] = base + (size_t)i * TENSOR;
  use_all();
  CHECK(cuCtxSynchronize());
  CHECK(cuMemUnmap(base, pages * page));
  CHECK(cuMemAddressFree(base, pages * page));
  CHECK(cuMemRelease(zeros));
}

static void xla_default(void) {
  CUmemAllocationProp properties = on_device();
  const size_t bytes = (size_t)count * TENSOR;
  CUmemGenericAllocationHandle handle;
  CUdeviceptr base;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CHECK(cuMemAddressReserve(&base, bytes, 0, 0, 0));
  handle = map_piece(base, bytes, &properties);
  CHECK(cuMemRelease(handle)); /* its mapping keeps the memory */
  for (int i = 0; i < count; ++i) tensors[i] = base + (size_t)i * TENSOR;
  use_all();
  CHECK(cuCtxSynchronize());
  CHECK(cuMemUnmap(base, bytes));
  CHECK(cuMemAddressFree(base, bytes));
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*take)(void);
  } ways[] = {
      {"torch-async", torch_async}, {"xla-async", xla_async}, {"arena", arena},      {"torch-segments", torch_segments},
      {"xla-default", xla_default}, {"managed", managed},     {"pages-at", pages_at}};
  CUcontext context;
  if (argc > 2) count = atoi(argv[2]);
  if (argc < 2 || count < 1 || count > MOST) return 2;
  device = open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); ++i) {
    if (strcmp(ways[i].name, argv[1]) != 0) continue;
    ways[i].take();
    puts("ok");
    return 0;
  }
  return 2;
}
