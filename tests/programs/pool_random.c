/* Random calls of memory pools, right and wrong ones, in an order that no framework makes.
 *
 *   pool_random KERNELS SEED CALLS
 *
 * One line for each call: what it was, its result, and what it answered. Blocks have contents, which are written, used
 * by kernels on several streams and read. With and without Tessera the lines are the same. No call uses a pool that was
 * destroyed, or a block that was freed: drivers may crash.
 *
 * Thread safety: one thread.
 */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "random_calls.h"

#define MiB ((size_t)1 << 20)

enum { POOLS = 5, BLOCKS = 16, STREAMS = 3 };

struct pool {
  CUmemoryPool handle; /* null: none. The first is the default pool */
  size_t limit;
  int retains; /* it has, or had, a release threshold */
};

struct block {
  CUdeviceptr at; /* 0: none */
  size_t bytes;
  int pool, stream, content, filled;
};

static CUdevice device;
static CUmodule module;
static CUstream streams[STREAMS];
static struct pool pools[POOLS];
static struct block blocks[BLOCKS];
static int current;

static int any_pool(void) {
  const int first = (int)draw(POOLS);
  for (int i = 0; i < POOLS; ++i) {
    if (pools[(first + i) % POOLS].handle != NULL) return (first + i) % POOLS;
  }
  return 0;
}

static struct block* any_block(void) {
  const int first = (int)draw(BLOCKS);
  for (int i = 0; i < BLOCKS; ++i) {
    if (blocks[(first + i) % BLOCKS].at != 0) return &blocks[(first + i) % BLOCKS];
  }
  return NULL;
}

static int number_of(CUmemoryPool handle) {
  for (int i = 0; i < POOLS; ++i) {
    if (pools[i].handle == handle) return i;
  }
  return -1;
}

static unsigned long long amount(int pool, CUmemPool_attribute attribute) {
  cuuint64_t told = 0;
  CHECK(cuMemPoolGetAttribute(pools[pool].handle, attribute, &told));
  return told;
}

/* What a pool that has had a threshold reserves is the driver's to choose. */
static void tell(int pool) {
  if (pools[pool].handle == NULL) return;
  printf("  pool %d: used %llu, at most %llu", pool, amount(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT),
         amount(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
  if (!pools[pool].retains) {
    printf(", reserved %llu, at most %llu", amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT),
           amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH));
  }
  printf("\n");
}

/* ---- pools --------------------------------------------------------------------------------------
 */

static void create_one(void) {
  const int i = 1 + (int)draw(POOLS - 1);
  CUmemPoolProps props;
  if (pools[i].handle != NULL) return;
  memset(&props, 0, sizeof(props));
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = device;
  props.maxSize = draw(3) == 0 ? 30 * MiB : 0;
  if (draw(4) == 0) props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  printf("create %d", i);
  say(cuMemPoolCreate(&pools[i].handle, &props));
  pools[i].limit = props.maxSize;
  pools[i].retains = 0;
}

static void destroy_one(void) {
  const int i = any_pool();
  const CUresult result = cuMemPoolDestroy(pools[i].handle);
  printf("destroy %d", i);
  say(result);
  if (result != CUDA_SUCCESS) return;
  pools[i].handle = NULL;
  for (int b = 0; b < BLOCKS; ++b) {
    if (blocks[b].at != 0 && blocks[b].pool == i) blocks[b].pool = -1;
  }
  if (current == i) current = 0;
}

static void make_current(void) {
  const int i = any_pool();
  CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  CUmemoryPool told = NULL;
  printf("current %d", i);
  say(draw(2) == 0 ? cuDeviceSetMemPool(device, pools[i].handle)
                   : cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, pools[i].handle));
  current = i;
  CHECK(cuDeviceGetMemPool(&told, device));
  printf("  told: %d\n", number_of(told));
}

static void set_one(void) {
  static const CUmemPool_attribute switches[] = {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                                                 CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
                                                 CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES};
  const int i = any_pool();
  const unsigned which = draw(6);
  cuuint64_t value = draw(3) * 8 * MiB;
  int on = (int)draw(2), told = -1;
  if (which == 0) {
    printf("threshold of %d: %llu", i, (unsigned long long)value);
    say(cuMemPoolSetAttribute(pools[i].handle, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
    pools[i].retains = 1;
    printf("  told: %llu\n", amount(i, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
  } else if (which <= 2) {
    printf("mark of %d: %llu", i, (unsigned long long)value);
    say(cuMemPoolSetAttribute(pools[i].handle,
                              which == 1 ? CU_MEMPOOL_ATTR_USED_MEM_HIGH : CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &value));
  } else {
    printf("switch of %d: %d", i, on);
    say(cuMemPoolSetAttribute(pools[i].handle, switches[which - 3], &on));
    CHECK(cuMemPoolGetAttribute(pools[i].handle, switches[which - 3], &told));
    printf("  told: %d\n", told);
  }
  tell(i);
}

static void trim_one(void) {
  const int i = any_pool();
  CHECK(cuCtxSynchronize());
  printf("trim %d", i);
  say(cuMemPoolTrimTo(pools[i].handle, draw(3) * 8 * MiB));
  tell(i);
}

static void access_one(void) {
  const int i = any_pool();
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemAccess_flags flags = 0;
  if (draw(2) == 0) access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  printf("access to %d: %d", i, (int)access.flags);
  say(cuMemPoolSetAccess(pools[i].handle, &access, draw(3) == 0 ? 0 : 1));
  CHECK(cuMemPoolGetAccess(&flags, pools[i].handle, &access.location));
  printf("  told: %d\n", (int)flags);
}

/* ---- blocks -------------------------------------------------------------------------------------
 */

static void allocate_one(void) {
  const int b = (int)draw(BLOCKS);
  struct block* const made = &blocks[b];
  if (made->at != 0) return;
  const int from = draw(3) == 0 ? -1 : any_pool(); /* -1: the current one */
  made->bytes = draw(4) == 0 ? 4 * (1 + draw(5000)) : (1 + draw(12)) * MiB / 2;
  made->stream = (int)draw(STREAMS);
  made->pool = from < 0 ? current : from;
  made->filled = 0;
  const CUstream stream = streams[made->stream];
  const CUresult result = from < 0 ? cuMemAllocAsync(&made->at, made->bytes, stream)
                                   : cuMemAllocFromPoolAsync(&made->at, made->bytes, pools[from].handle, stream);
  printf("allocate %d of %zu from %d", b, made->bytes, made->pool);
  say(result);
  if (result != CUDA_SUCCESS) made->at = 0;
  tell(made->pool);
}

static void free_one(void) {
  struct block* const one = any_block();
  if (one == NULL) return;
  const int apart = draw(8) == 0 && one->bytes > 1024;
  CHECK(cuCtxSynchronize());
  const CUresult result = draw(3) == 0 ? cuMemFree(one->at + (apart ? 512 : 0))
                                       : cuMemFreeAsync(one->at + (apart ? 512 : 0), streams[draw(STREAMS)]);
  printf("free%s", apart ? " within" : "");
  say(result);
  CHECK(cuCtxSynchronize());
  if (one->pool >= 0) tell(one->pool);
  if (result == CUDA_SUCCESS) one->at = 0;
}

static void use_one(void) {
  struct block* const one = any_block();
  if (one == NULL) return;
  int count = (int)(one->bytes / 4);
  if (!one->filled || draw(4) == 0) {
    one->content = (int)draw(100000);
    one->filled = 1;
    CHECK(cuMemsetD32Async(one->at, (unsigned)one->content, (size_t)count, streams[one->stream]));
    return;
  }
  void* parameters[] = {&one->at, &count};
  CHECK(launch_threads(module, "add_one", count, streams[one->stream], parameters));
  ++one->content;
}

static void check_one(void) {
  struct block* const one = any_block();
  CUmemoryPool pool = NULL;
  CUdeviceptr start = 0;
  size_t size = 0;
  if (one == NULL) return;
  CHECK(cuMemGetAddressRange(&start, &size, one->at + one->bytes - 1));
  printf("range %d %zu\n", start == one->at, size);
  if (one->pool >= 0) { /* of a pool that is destroyed nothing is promised */
    CHECK(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, one->at));
    printf("  of pool %d\n", number_of(pool));
  }
  CHECK(cuStreamSynchronize(streams[one->stream]));
  if (one->filled) printf("  %s\n", block_holds(one->at, (int)(one->bytes / 4), 0, one->content) ? "right" : "wrong");
}

int main(int argc, char** argv) {
  static void (*const calls[])(void) = {create_one,   destroy_one,  make_current, set_one,      trim_one,
                                        access_one,   allocate_one, allocate_one, allocate_one, allocate_one,
                                        allocate_one, free_one,     free_one,     use_one,      use_one,
                                        use_one,      use_one,      check_one,    check_one};
  CUcontext context;
  if (argc != 4) return 2;
  state = strtoull(argv[2], NULL, 10) * 2654435761u + 1;
  device = open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  for (int s = 1; s < STREAMS; ++s) CHECK(cuStreamCreate(&streams[s], CU_STREAM_NON_BLOCKING));
  CHECK(cuDeviceGetDefaultMemPool(&pools[0].handle, device));
  for (int left = atoi(argv[3]); left-- > 0;) calls[draw(sizeof(calls) / sizeof(calls[0]))]();
  CHECK(cuCtxSynchronize());
  puts("ok");
  return 0;
}
