/* Every form of copy, set, allocation and query, over more blocks than a small device holds.
 *
 * Each block has a mirror in host memory; each round writes one block by the next form, then reads all of them back by
 * a form of reading and compares. Prints one line per query, independent of addresses. Exits with 1 at the first error
 * or wrong byte. Compiled a second time as memory_calls_ptds.c, for per-thread default streams.
 */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define BLOCKS 12
#define ROW 2048
#define ROWS 512
#define BYTES ((size_t)ROW * ROWS)

static CUdeviceptr block[BLOCKS];
static unsigned char* mirror[BLOCKS];
static unsigned char *pinned, *pageable;
static CUstream stream;
static CUcontext context;
static CUdevice device;

static uint32_t seed = 1;
static void scribble(unsigned char* to) {
  for (size_t i = 0; i < BYTES; i += 4) {
    seed = seed * 1664525u + 1013904223u;
    memcpy(to + i, &seed, 4);
  }
}

static CUDA_MEMCPY2D rows(void) {
  CUDA_MEMCPY2D copy;
  memset(&copy, 0, sizeof(copy));
  copy.srcPitch = copy.dstPitch = ROW;
  copy.WidthInBytes = ROW;
  copy.Height = ROWS;
  return copy;
}
static CUDA_MEMCPY2D rows_in(int to, const void* from) {
  CUDA_MEMCPY2D copy = rows();
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = block[to];
  return copy;
}
static CUDA_MEMCPY2D rows_out(void* to, int from) {
  CUDA_MEMCPY2D copy = rows();
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = block[from];
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = to;
  return copy;
}

/* Each writes block `to` and its mirror; `from` is another block. */
static void in_now(int to, int from) {
  (void)from;
  scribble(mirror[to]);
  CHECK(cuMemcpyHtoD(block[to], mirror[to], BYTES));
}
static void in_pinned(int to, int from) {
  (void)from;
  scribble(pinned);
  memcpy(mirror[to], pinned, BYTES);
  CHECK(cuMemcpyHtoDAsync(block[to], pinned, BYTES, stream));
}
static void in_pageable(int to, int from) {
  (void)from;
  scribble(mirror[to]);
  CHECK(cuMemcpyHtoDAsync(block[to], mirror[to], BYTES, stream));
}
static void in_unified(int to, int from) {
  (void)from;
  scribble(mirror[to]);
  CHECK(cuMemcpy(block[to], (CUdeviceptr)(uintptr_t)mirror[to], BYTES));
}
static void in_unified_queued(int to, int from) {
  (void)from;
  scribble(pinned);
  memcpy(mirror[to], pinned, BYTES);
  CHECK(cuMemcpyAsync(block[to], (CUdeviceptr)(uintptr_t)pinned, BYTES, stream));
}
static void in_rows(int to, int from) {
  (void)from;
  scribble(mirror[to]);
  const CUDA_MEMCPY2D copy = rows_in(to, mirror[to]);
  CHECK(cuMemcpy2D(&copy));
}
static void in_rows_unaligned(int to, int from) {
  (void)from;
  scribble(mirror[to]);
  const CUDA_MEMCPY2D copy = rows_in(to, mirror[to]);
  CHECK(cuMemcpy2DUnaligned(&copy));
}
static void in_rows_queued(int to, int from) {
  (void)from;
  scribble(pinned);
  memcpy(mirror[to], pinned, BYTES);
  const CUDA_MEMCPY2D copy = rows_in(to, pinned);
  CHECK(cuMemcpy2DAsync(&copy, stream));
}
static void over(int to, int from) {
  memcpy(mirror[to], mirror[from], BYTES);
  CHECK(cuMemcpyDtoD(block[to], block[from], BYTES));
}
static void over_queued(int to, int from) {
  memcpy(mirror[to], mirror[from], BYTES);
  CHECK(cuMemcpyDtoDAsync(block[to], block[from], BYTES, stream));
}
static void over_peers(int to, int from) {
  memcpy(mirror[to], mirror[from], BYTES);
  CHECK(cuMemcpyPeer(block[to], context, block[from], context, BYTES));
}
static void over_peers_queued(int to, int from) {
  memcpy(mirror[to], mirror[from], BYTES);
  CHECK(cuMemcpyPeerAsync(block[to], context, block[from], context, BYTES, stream));
}
static void over_half(int to, int from) { /* from the middle of one into the middle of another */
  memcpy(mirror[to] + BYTES / 2, mirror[from] + BYTES / 4, BYTES / 2);
  CHECK(cuMemcpyDtoD(block[to] + BYTES / 2, block[from] + BYTES / 4, BYTES / 2));
}
static void over_batch(int to, int from) { /* a half from another block, a half from the host */
  CUdeviceptr ends[] = {block[to], block[to] + BYTES / 2};
  CUdeviceptr starts[] = {block[from], (CUdeviceptr)(uintptr_t)pinned};
  size_t sizes[] = {BYTES / 2, BYTES / 2}, first = 0;
  CUmemcpyAttributes attributes;
  memset(&attributes, 0, sizeof(attributes));
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  scribble(pinned);
  memcpy(mirror[to], mirror[from], BYTES / 2);
  memcpy(mirror[to] + BYTES / 2, pinned, BYTES / 2);
  CHECK(cuMemcpyBatchAsync(ends, starts, sizes, 2, &attributes, &first, 1, stream));
}

static void set_bytes(int to, int from) {
  memset(mirror[to], 17 + from, BYTES);
  CHECK(cuMemsetD8(block[to], (unsigned char)(17 + from), BYTES));
}
static void set_bytes_queued(int to, int from) {
  memset(mirror[to], 71 + from, BYTES);
  CHECK(cuMemsetD8Async(block[to], (unsigned char)(71 + from), BYTES, stream));
}
static void set_shorts(int to, int from) {
  (void)from;
  memset(mirror[to], 0x5a, BYTES);
  CHECK(cuMemsetD16(block[to], 0x5a5a, BYTES / 2));
}
static void set_words(int to, int from) {
  (void)from;
  memset(mirror[to], 0x3c, BYTES);
  CHECK(cuMemsetD32Async(block[to], 0x3c3c3c3cu, BYTES / 4, stream));
}
static void set_rows(int to, int from) {
  (void)from;
  memset(mirror[to], 0x77, BYTES);
  CHECK(cuMemsetD2D8(block[to], ROW, 0x77, ROW, ROWS));
}
static void set_rows_queued(int to, int from) {
  (void)from;
  memset(mirror[to], 0x11, BYTES);
  CHECK(cuMemsetD2D32Async(block[to], ROW, 0x11111111u, ROW / 4, ROWS, stream));
}

static void out_now(void* to, int from) { CHECK(cuMemcpyDtoH(to, block[from], BYTES)); }
static void out_queued(void* to, int from) {
  CHECK(cuMemcpyDtoHAsync(to, block[from], BYTES, stream));
  CHECK(cuStreamSynchronize(stream));
}
static void out_unified(void* to, int from) { CHECK(cuMemcpy((CUdeviceptr)(uintptr_t)to, block[from], BYTES)); }
static void out_rows(void* to, int from) {
  const CUDA_MEMCPY2D copy = rows_out(to, from);
  CHECK(cuMemcpy2D(&copy));
}

static void (*const writes[])(int, int) = {
    in_now,           in_pinned,         in_pageable,    in_unified, in_unified_queued,
    in_rows,          in_rows_unaligned, in_rows_queued, over,       over_queued,
    over_peers,       over_peers_queued, over_half,      over_batch, set_bytes,
    set_bytes_queued, set_shorts,        set_words,      set_rows,   set_rows_queued};
static void (*const reads[])(void*, int) = {out_now, out_queued, out_unified, out_rows};
#define COUNT(array) (int)(sizeof(array) / sizeof(array[0]))

static void compare_all(int round) {
  for (int i = 0; i < BLOCKS; ++i) {
    unsigned char* const to = (i + round) % 2 ? pinned : pageable;
    CHECK(cuStreamSynchronize(stream));
    reads[(i + round) % COUNT(reads)](to, i);
    if (memcmp(to, mirror[i], BYTES) == 0) continue;
    printf("round %d: block %d is not what was written\n", round, i);
    exit(1);
  }
}

static void allocate_all(void) {
  CUmemoryPool pool;
  size_t pitch = 0;
  CHECK(cuDeviceGetDefaultMemPool(&pool, device));
  for (int i = 0; i < BLOCKS; ++i) {
    if (i % 4 == 0) CHECK(cuMemAlloc(&block[i], BYTES));
    if (i % 4 == 1) CHECK(cuMemAllocPitch(&block[i], &pitch, ROW - 5, ROWS, 4));
    if (i % 4 == 2) CHECK(cuMemAllocAsync(&block[i], BYTES, stream));
    if (i % 4 == 3) CHECK(cuMemAllocFromPoolAsync(&block[i], BYTES, pool, stream));
  }
  printf("a row of %d bytes has the pitch %d\n", ROW - 5, (int)pitch);
}

static void ask_about(int which) {
  CUdeviceptr base = 0, start = 0;
  CUmemorytype type = (CUmemorytype)0;
  int ordinal = -1;
  size_t bytes = 0, range = 0, free_bytes = 0, total_bytes = 0;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                 CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* values[] = {&type, &range, &start, &ordinal};
  CHECK(cuMemGetAddressRange(&base, &bytes, block[which] + 4097));
  CHECK(cuPointerGetAttributes(4, names, values, block[which] + 1));
  CHECK(cuMemGetInfo(&free_bytes, &total_bytes));
  printf("block %d: base %s, %zu bytes; type %d, start %s, range %zu, device %d; free %s total\n", which,
         base == block[which] ? "right" : "wrong", bytes, (int)type, start == block[which] ? "right" : "wrong", range,
         ordinal, free_bytes <= total_bytes ? "within" : "beyond");
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block[which]));
  printf("block %d alone: type %d\n", which, (int)type);
}

int main(void) {
  device = open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  CHECK(cuMemAllocHost((void**)&pinned, BYTES));
  pageable = malloc(BYTES);
  allocate_all();
  for (int i = 0; i < BLOCKS; ++i) {
    mirror[i] = malloc(BYTES);
    in_now(i, i);
  }
  for (int round = 0; round < COUNT(writes); ++round) {
    writes[round](round % BLOCKS, (round + 5) % BLOCKS);
    compare_all(round);
  }
  printf("%d forms of writing and %d of reading agree\n", COUNT(writes), COUNT(reads));
  ask_about(0);
  ask_about(3);
  for (int i = 0; i < BLOCKS; ++i) {
    if (i % 2 == 0) CHECK(cuMemFree(block[i]));
    if (i % 2 == 1) CHECK(cuMemFreeAsync(block[i], stream));
    free(mirror[i]);
  }
  CHECK(cuStreamDestroy(stream));
  CHECK(cuMemFreeHost(pinned));
  CHECK(cuDevicePrimaryCtxRelease(device));
  free(pageable);
  puts("ok");
  return 0;
}
