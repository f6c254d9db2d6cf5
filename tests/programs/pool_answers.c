/* A driver's answers about memory pools: one line per question, to be compared between a driver alone and the same
 * driver under Tessera.
 *
 * Usage: pool_answers amounts|misuse. Exits with 0 if every question was asked.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define MiB ((size_t)1 << 20)

static CUdevice device;
static CUstream stream;

static void say(const char* attempt, CUresult result) {
  const char* name = "?";
  cuGetErrorName(result, &name);
  printf("%s: %s\n", attempt, name);
}

static CUmemoryPool make_pool(size_t limit) {
  CUmemPoolProps props;
  CUmemoryPool pool;
  memset(&props, 0, sizeof(props));
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = device;
  props.maxSize = limit;
  CHECK(cuMemPoolCreate(&pool, &props));
  return pool;
}

static unsigned long long amount(CUmemoryPool pool, CUmemPool_attribute attribute) {
  cuuint64_t told = 0;
  CHECK(cuMemPoolGetAttribute(pool, attribute, &told));
  return told;
}

static void tell(const char* when, CUmemoryPool pool) {
  printf("%s: used %llu, at most %llu, reserved %llu, at most %llu\n", when,
         amount(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), amount(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH),
         amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH));
}

static void amounts_of(CUmemoryPool pool) {
  static const size_t sizes[] = {3 * MiB, 100, 512, 700 * 1024, 9 * MiB + 1};
  cuuint64_t none = 0;
  CUdeviceptr block[5];
  tell("at first", pool);
  for (int i = 0; i < 5; ++i) {
    CHECK(cuMemAllocFromPoolAsync(&block[i], sizes[i], pool, stream));
    tell("after an allocation", pool);
  }
  CHECK(cuMemFreeAsync(block[0], stream));
  CHECK(cuMemFreeAsync(block[4], stream));
  CHECK(cuStreamSynchronize(stream));
  tell("after frees", pool);
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &none));
  tell("after a reset of one", pool);
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &none));
  CHECK(cuMemPoolTrimTo(pool, 0));
  tell("after a reset of both", pool);
  CHECK(cuMemAllocFromPoolAsync(&block[0], sizes[0], pool, stream));
  tell("after one more", pool);
  for (int i = 0; i < 4; ++i) CHECK(cuMemFreeAsync(block[i], stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemPoolTrimTo(pool, 0));
  tell("at last", pool);
}

static void amounts(void) {
  CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  CUmemoryPool usual, found, told = NULL, own = make_pool(0);
  CUdeviceptr block;
  CHECK(cuDeviceGetDefaultMemPool(&usual, device));
  amounts_of(own);
  amounts_of(usual);
  CHECK(cuDeviceSetMemPool(device, own));
  CHECK(cuMemAllocAsync(&block, 5 * MiB, stream));
  tell("as the current pool", own);
  tell("the default pool", usual);
  CHECK(cuMemFree(block));
  tell("after cuMemFree", own);
  CHECK(cuDeviceSetMemPool(device, usual));
  CHECK(cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, own));
  CHECK(cuMemGetMemPool(&found, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
  CHECK(cuMemAllocAsync(&block, 3 * MiB, stream));
  CHECK(cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, block));
  tell(found == own && told == own ? "set by its place" : "another is set by its place", own);
  CHECK(cuMemFreeAsync(block, stream));
  CHECK(cuMemGetDefaultMemPool(&found, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
  printf("the default pool is %s\n", found == usual ? "the same by its place" : "another by its place");
  CHECK(cuMemPoolDestroy(own));
  CHECK(cuDeviceGetMemPool(&own, device));
  printf("the current pool is %s\n", own == usual ? "the default one" : "another");
}

static void misuse(void) {
  CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_NONE};
  CUmemoryPool usual, own = make_pool(0), small = make_pool(3 * MiB), gone = make_pool(0);
  CUmemPoolPtrExportData data;
  CUmemAccess_flags flags;
  CUmemPoolProps props;
  CUdeviceptr block, other;
  cuuint64_t some = 5, told = 0;
  int file = -1;
  CHECK(cuDeviceGetDefaultMemPool(&usual, device));
  memset(&props, 0, sizeof(props));
  say("create without properties", cuMemPoolCreate(&gone, NULL));
  say("create of no type", cuMemPoolCreate(&gone, &props));
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = 99;
  say("create on no device", cuMemPoolCreate(&gone, &props));
  say("allocate from null", cuMemAllocFromPoolAsync(&block, 64, NULL, stream));
  say("allocate into null", cuMemAllocFromPoolAsync(NULL, 64, own, stream));
  say("allocate 1 TiB", cuMemAllocFromPoolAsync(&block, (size_t)1 << 40, own, stream));
  say("allocate all there is", cuMemAllocFromPoolAsync(&block, ~(size_t)0, own, stream));
  CHECK(cuMemAllocFromPoolAsync(&block, 4096, own, stream));
  say("free within a block", cuMemFreeAsync(block + 512, stream));
  say("export a block", cuMemPoolExportPointer(&data, block));
  say("export a pool", cuMemPoolExportToShareableHandle(&file, own, type, 0));
  say("export a default pool", cuMemPoolExportToShareableHandle(&file, usual, type, 0));
  memset(&data, 0, sizeof(data));
  say("import nothing", cuMemPoolImportPointer(&other, own, &data));
  say("import into null", cuMemPoolImportPointer(NULL, own, &data));
  say("import from null", cuMemPoolImportPointer(&other, own, NULL));
  say("set an amount", cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &some));
  say("set a watermark", cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &some));
  say("get into null", cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_HIGH, NULL));
  say("get no attribute", cuMemPoolGetAttribute(own, (CUmemPool_attribute)99, &told));
  say("take its own access", cuMemPoolSetAccess(own, &access, 1));
  CHECK(cuMemPoolGetAccess(&flags, own, &access.location));
  printf("access: %d\n", (int)flags);
  say("free", cuMemFreeAsync(block, stream));
  say("free twice", cuMemFreeAsync(block, stream));
  printf("used: %llu, at most %llu\n", amount(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT),
         amount(own, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
  say("allocate to the limit", cuMemAllocFromPoolAsync(&block, 4 * MiB, small, stream));
  say("allocate beyond it", cuMemAllocFromPoolAsync(&other, 1, small, stream)); /* pools grow by 32 MiB */
  say("allocate far beyond it", cuMemAllocFromPoolAsync(&other, 32 * MiB, small, stream));
  printf("used: %llu, at most %llu\n", amount(small, CU_MEMPOOL_ATTR_USED_MEM_CURRENT),
         amount(small, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
  say("free", cuMemFreeAsync(block, stream));
  say("allocate again", cuMemAllocFromPoolAsync(&block, 4 * MiB, small, stream));
  say("destroy a pool with a block", cuMemPoolDestroy(small));
  say("set its block", cuMemsetD8Async(block, 1, 4 * MiB, stream));
  say("free its block", cuMemFreeAsync(block, stream));
  say("destroy a pool twice", cuMemPoolDestroy(small));
  say("destroy a default pool", cuMemPoolDestroy(usual));
  say("destroy null", cuMemPoolDestroy(NULL));
  say("allocate from a destroyed pool", cuMemAllocFromPoolAsync(&block, 64, small, stream));
  say("trim a destroyed pool", cuMemPoolTrimTo(small, 0));
  say("ask a destroyed pool", cuMemPoolGetAttribute(small, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &told));
  say("make a destroyed pool current", cuDeviceSetMemPool(device, small));
  CHECK(cuMemPoolDestroy(own));
}

int main(int argc, char** argv) {
  CUcontext context;
  device = open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  if (argc == 2 && strcmp(argv[1], "misuse") == 0) {
    misuse();
  } else {
    amounts();
  }
  return 0;
}
