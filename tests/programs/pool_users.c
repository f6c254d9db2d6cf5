/* Frameworks that allocate from pools of their own, as the calls that each makes, in its order.
 *
 * Usage: pool_users KERNELS rmm|ort|core|trt. Each way holds 12 blocks of 4 MiB, gives each to kernels on several
 * streams four times, and checks every number.
 *
 *   rmm   RMM's cuda_async_memory_resource: a pool on the current device with a release threshold as large as the
 *         device, primed by one allocation that is freed at once on the default stream; buffers in the order of streams
 *   ort   ONNX Runtime's mempool arena: a pool of the process, allocations on the default stream that are waited for,
 *         others on the stream of a node; shrinks between runs; at the end frees, waits, trims and destroys
 *   core  cuda.core's DeviceMemoryResource: without options the device's current pool, whose threshold it raises; with
 *         options a pool with a maximum size; each allocation asks first whether its stream is captured, and reads
 *         attributes of the pool
 *   trt   TensorRT-LLM's BufferManager: a pool of the process that is never released by itself; buffers of a request in
 *         the order of its stream, freed and allocated again between requests; reads how much of the pool is free after
 *         the stream has been waited for, and trims it to nothing at the end
 *
 * Prints "ok" or what failed.
 */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 20)
#define BYTES (COUNT * sizeof(int))
#define ROUNDS 4
#define STREAMS 3

static CUdevice device;
static CUfunction add_one;
static CUstream streams[STREAMS];

static void must(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static cuuint64_t amount(CUmemoryPool pool, CUmemPool_attribute attribute) {
  cuuint64_t told = 0;
  CHECK(cuMemPoolGetAttribute(pool, attribute, &told));
  return told;
}

static CUmemoryPool make_pool(size_t limit) {
  CUmemPoolProps props;
  CUmemoryPool pool;
  memset(&props, 0, sizeof(props));
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = device;
  props.maxSize = limit;
  CHECK(cuMemPoolCreate(&pool, &props));
  return pool;
}

static void fill(CUdeviceptr block, int b, CUstream stream) {
  CHECK(cuMemsetD32Async(block, (unsigned)b, COUNT, stream));
}

static void add(CUdeviceptr block, CUstream stream) {
  int count = COUNT;
  void* parameters[] = {&block, &count};
  CHECK(cuLaunchKernel(add_one, COUNT / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

/* Every block in turn, so that those before it have to leave when not all fit. */
static void work(const CUdeviceptr* block, CUstream (*stream_of)(int)) {
  for (int round = 0; round < ROUNDS; ++round) {
    for (int b = 0; b < BLOCKS; ++b) add(block[b], stream_of(b));
  }
}

static void expect(const CUdeviceptr* block, int more) {
  CHECK(cuCtxSynchronize());
  for (int b = 0; b < BLOCKS; ++b) must(block_holds(block[b], COUNT, b, b + more), "wrong contents");
}

static CUstream stream_of(int b) { return streams[b % STREAMS]; }
static CUstream default_stream(int b) {
  (void)b;
  return NULL;
}

static void expect_pool(CUdeviceptr block, CUmemoryPool pool) {
  CUmemoryPool told = NULL;
  CHECK(cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, block + 5));
  must(told == pool, "a block does not tell its pool");
}

static void as_rmm(void) {
  CUdeviceptr block[BLOCKS], first;
  size_t free_bytes, total;
  CUmemoryPool pool = make_pool(0);
  cuuint64_t threshold;
  CHECK(cuMemGetInfo(&free_bytes, &total));
  threshold = total;
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  CHECK(cuMemAllocFromPoolAsync(&first, 2 * BYTES, pool, NULL));
  CHECK(cuMemFreeAsync(first, NULL));
  for (int b = 0; b < BLOCKS; ++b) {
    CHECK(cuMemAllocFromPoolAsync(&block[b], BYTES, pool, stream_of(b)));
    fill(block[b], b, stream_of(b));
  }
  expect_pool(block[0], pool);
  must(amount(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == BLOCKS * BYTES, "the amount in use");
  work(block, stream_of);
  expect(block, ROUNDS);
  for (int b = 0; b < BLOCKS; ++b) CHECK(cuMemFreeAsync(block[b], stream_of(b)));
  CHECK(cuCtxSynchronize());
  must(amount(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0, "freed blocks are in use");
  must(amount(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == BLOCKS * BYTES, "the high watermark");
  CHECK(cuMemPoolDestroy(pool));
}

static void as_ort(void) {
  CUdeviceptr block[BLOCKS], scratch;
  cuuint64_t threshold = 64 << 20, keep = 0;
  CUmemoryPool pool = make_pool(0);
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  for (int b = 0; b < BLOCKS; ++b) {
    CHECK(cuMemAllocFromPoolAsync(&block[b], BYTES, pool, NULL));
    CHECK(cuStreamSynchronize(NULL));
    fill(block[b], b, NULL);
  }
  for (int run = 1; run <= 2; ++run) {
    CHECK(cuMemAllocFromPoolAsync(&scratch, 2 * BYTES, pool, streams[0]));
    CHECK(cuMemsetD32Async(scratch, 7, 2 * COUNT, streams[0]));
    work(block, default_stream);
    CHECK(cuMemFreeAsync(scratch, streams[0]));
    expect(block, run * ROUNDS);
    CHECK(cuMemPoolTrimTo(pool, keep));
    must(amount(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == BLOCKS * BYTES, "the amount in use after a trim");
    const cuuint64_t reserved = amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); /* multiples of 32 MiB */
    must(reserved >= BLOCKS * BYTES && reserved < BLOCKS * BYTES + (32 << 20), "the amount reserved after a trim");
  }
  for (int b = 0; b < BLOCKS; ++b) CHECK(cuMemFreeAsync(block[b], NULL));
  CHECK(cuStreamSynchronize(NULL));
  CHECK(cuStreamSynchronize(streams[0]));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemPoolTrimTo(pool, 0));
  must(amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0, "an empty pool reserves memory");
  CHECK(cuMemPoolDestroy(pool));
}

static void as_trt(void) {
  CUdeviceptr block[BLOCKS];
  cuuint64_t all = ~(cuuint64_t)0;
  CUmemoryPool pool = make_pool(0);
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
  for (int request = 0; request < 2; ++request) {
    for (int b = 0; b < BLOCKS; ++b) {
      CHECK(cuMemAllocFromPoolAsync(&block[b], BYTES, pool, streams[0]));
      fill(block[b], b, streams[0]);
    }
    CHECK(cuStreamSynchronize(streams[0]));
    const cuuint64_t reserved = amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    must(reserved - amount(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) < (32 << 20), "the amount that is free");
    for (int round = 0; round < ROUNDS; ++round) {
      for (int b = 0; b < BLOCKS; ++b) add(block[b], streams[0]);
    }
    expect(block, ROUNDS);
    for (int b = 0; b < BLOCKS; ++b) CHECK(cuMemFreeAsync(block[b], streams[0]));
    CHECK(cuStreamSynchronize(streams[0]));
    must(amount(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0, "freed blocks are in use");
  }
  CHECK(cuMemPoolTrimTo(pool, 0));
  must(amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0, "an empty pool reserves memory");
  CHECK(cuMemPoolDestroy(pool));
}

static CUdeviceptr core_allocate(CUmemoryPool pool, size_t bytes, CUstream stream) {
  CUstreamCaptureStatus status;
  CUdeviceptr block;
  CHECK(cuStreamIsCapturing(stream, &status));
  must(status == CU_STREAM_CAPTURE_STATUS_NONE, "no stream is captured");
  CHECK(cuMemAllocFromPoolAsync(&block, bytes, pool, stream));
  return block;
}

static void as_core(void) {
  CUdeviceptr block[BLOCKS], more;
  cuuint64_t threshold = 1, all = ~(cuuint64_t)0, before;
  CUmemoryPool usual, own;
  CHECK(cuDeviceGetMemPool(&usual, device));
  CHECK(cuMemPoolGetAttribute(usual, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  if (threshold == 0) CHECK(cuMemPoolSetAttribute(usual, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
  own = make_pool(BLOCKS / 2 * BYTES);
  for (int b = 0; b < BLOCKS; ++b) {
    CUmemoryPool pool = b % 2 == 0 ? usual : own;
    before = amount(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    block[b] = core_allocate(pool, BYTES, stream_of(b));
    must(amount(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == before + BYTES, "the amount in use");
    must(amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) >= amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT),
         "the high watermark");
    expect_pool(block[b], pool);
    fill(block[b], b, stream_of(b));
  }
  must(cuMemAllocFromPoolAsync(&more, BLOCKS / 2 * BYTES, own, streams[0]) == CUDA_ERROR_OUT_OF_MEMORY,
       "a pool is larger than its maximum size");
  work(block, stream_of);
  expect(block, ROUNDS);
  CHECK(cuMemFreeAsync(block[1], stream_of(1)));
  CHECK(cuStreamSynchronize(stream_of(1)));
  block[1] = core_allocate(own, BYTES, stream_of(1));
  CHECK(cuMemPoolDestroy(own)); /* before its buffers are closed */
  for (int b = 0; b < BLOCKS; ++b) CHECK(cuMemFreeAsync(block[b], stream_of(b)));
  CHECK(cuCtxSynchronize());
  must(amount(usual, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0, "freed blocks are in use");
}

int main(int argc, char** argv) {
  CUcontext context;
  CUmodule module;
  const char* const way = argc == 3 ? argv[2] : "";
  device = open_device(&context);
  CHECK(cuModuleLoad(&module, argc == 3 ? argv[1] : ""));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  for (int s = 0; s < STREAMS; ++s) CHECK(cuStreamCreate(&streams[s], CU_STREAM_NON_BLOCKING));
  if (strcmp(way, "rmm") == 0) {
    as_rmm();
  } else if (strcmp(way, "ort") == 0) {
    as_ort();
  } else if (strcmp(way, "trt") == 0) {
    as_trt();
  } else {
    as_core();
  }
  puts("ok");
  return 0;
}
