/* The attributes of each kind of memory: a line for each, by both query calls.
 *
 * Usage: whose_pointer. cuMemAlloc memory has a context and no pool; memory of the default pool, and of a pool created
 * by the program, has that pool and no context. Interior addresses have the same attributes.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define BYTES ((size_t)3 << 20)

static CUcontext context;
static CUmemoryPool usual, own;

static const char* pool_name(CUmemoryPool pool) {
  if (pool == NULL) return "none";
  if (pool == usual) return "the default one";
  return pool == own ? "the program's" : "another";
}

static const char* context_name(CUcontext told) {
  if (told == NULL) return "none";
  return told == context ? "the current one" : "another";
}

static void ask(const char* kind, CUdeviceptr block) {
  const CUdeviceptr inside = block + 4097;
  CUcontext alone, together;
  CUmemoryPool pool, pool_together;
  CUmemorytype type;
  unsigned long long handles = 1;
  int ordinal = -1;
  int legacy = -1, managed = -1, mapped = -1;
  CUdeviceptr start = 0;
  size_t range = 0;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                                 CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* values[] = {&together, &pool_together, &type, &ordinal};
  CHECK(cuPointerGetAttribute(&alone, CU_POINTER_ATTRIBUTE_CONTEXT, inside));
  CHECK(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, inside));
  CHECK(cuPointerGetAttributes(4, names, values, inside));
  CHECK(cuPointerGetAttribute(&handles, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, inside));
  CHECK(cuPointerGetAttribute(&legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, inside));
  CHECK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, inside));
  CHECK(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, inside));
  CHECK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside));
  CHECK(cuPointerGetAttribute(&range, CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside));
  printf("%s: context %s, pool %s, type %d, device %d, handles %d, managed %d, mapped %d, %s, %s\n", kind,
         context_name(alone), pool_name(pool), (int)type, ordinal, (int)handles, managed, mapped,
         start == block && range == BYTES ? "whole" : "in part",
         together == alone && pool_together == pool ? "the same together" : "another together");
  if (pool != NULL && legacy) puts("  and may be shared by a legacy handle");
}

int main(void) {
  CUmemPoolProps props;
  CUstream stream;
  CUdeviceptr block[5];
  const CUdevice device = open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuDeviceGetDefaultMemPool(&usual, device));
  memset(&props, 0, sizeof(props));
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = device;
  CHECK(cuMemPoolCreate(&own, &props));
  for (int round = 0; round < 2; ++round) { /* the second finds addresses of the first */
    CHECK(cuMemAlloc(&block[0], BYTES));
    CHECK(cuMemAllocAsync(&block[1], BYTES, stream));
    CHECK(cuMemAllocFromPoolAsync(&block[2], BYTES, usual, stream));
    CHECK(cuMemAllocFromPoolAsync(&block[3], BYTES, own, stream));
    CHECK(cuMemAllocAsync(&block[4], BYTES, NULL));
    ask("cuMemAlloc", block[0]);
    ask("cuMemAllocAsync", block[1]);
    ask("from the default pool", block[2]);
    ask("from the program's pool", block[3]);
    ask("on the default stream", block[4]);
    for (int i = 0; i < 4; ++i) CHECK(cuMemFreeAsync(block[i], stream));
    CHECK(cuMemFree(block[4]));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemAlloc(&block[0], BYTES));
    CHECK(cuMemAlloc(&block[1], BYTES));
    ask("cuMemAlloc in its place", block[0]);
    ask("cuMemAlloc in its place", block[1]);
    CHECK(cuMemFree(block[0]));
    CHECK(cuMemFree(block[1]));
  }
  return 0;
}
