/* The driver's results about peer access between two devices: one line per query.
 *
 * Usage: peers primary|own. Queries in the order of typical programs: before there is a context, with a context of one
 * device, of both, with memory of one, of both; enables access as soon as possible, and later.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static CUcontext contexts[2];

static void say(const char* attempt, CUresult result) {
  const char* name = "?";
  cuGetErrorName(result, &name);
  printf("%s: %s\n", attempt, name);
}

static void ask(const char* when) {
  int can = -1, access = -1, atomics = -1;
  CHECK(cuDeviceCanAccessPeer(&can, 0, 1));
  CHECK(cuDeviceGetP2PAttribute(&access, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 0));
  CHECK(cuDeviceGetP2PAttribute(&atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 1));
  printf("%s: %d %d %d\n", when, can, access, atomics);
}

static void enable(void) {
  say("flags", cuCtxEnablePeerAccess(contexts[1], 1));
  say("its own", cuCtxEnablePeerAccess(contexts[0], 0));
  say("enable", cuCtxEnablePeerAccess(contexts[1], 0));
  say("disable", cuCtxDisablePeerAccess(contexts[1]));
  say("disable again", cuCtxDisablePeerAccess(contexts[1]));
}

/* Gives the first device access to a pool of the second one. */
static void give(const char* what, CUmemoryPool pool) {
  CUmemLocation first = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  CUmemAccessDesc wanted = {first, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  say(what, cuMemPoolSetAccess(pool, &wanted, 1));
  CHECK(cuMemPoolGetAccess(&flags, pool, &first));
  printf("access: %d\n", (int)flags);
}

static void pools(void) {
  CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                          .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
  CUmemoryPool usual, own;
  CUdeviceptr block;
  CHECK(cuDeviceGetDefaultMemPool(&usual, 1));
  CHECK(cuMemPoolCreate(&own, &props));
  give("its default pool", usual);
  give("a pool of the program", own);
  CHECK(cuMemPoolDestroy(own));
  CHECK(cuMemPoolCreate(&own, &props));
  CHECK(cuCtxSetCurrent(contexts[1]));
  CHECK(cuMemAllocFromPoolAsync(&block, 4096, own, NULL));
  give("a pool with a block", own);
  CHECK(cuMemFreeAsync(block, NULL));
  CHECK(cuMemPoolDestroy(own));
  CHECK(cuCtxSetCurrent(contexts[0]));
}

/* Attributes of a block of the second device, queried from the first one. */
static void attributes(CUdeviceptr block) {
  CUcontext context;
  int device, access = -1;
  CHECK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, block));
  CHECK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, block));
  CHECK(cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, block));
  printf("of device %d%s, access: %d", device, context == contexts[1] ? " and its context" : "", access);
  CHECK(cuCtxSetCurrent(contexts[1]));
  CHECK(cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, block));
  printf(", its own: %d\n", access);
}

static void open_context(int device, int own) {
  if (own) {
    CHECK(cuCtxCreate(&contexts[device], NULL, 0, device));
  } else {
    CHECK(cuDevicePrimaryCtxRetain(&contexts[device], device));
  }
  CHECK(cuCtxSetCurrent(contexts[device]));
}

int main(int argc, char** argv) {
  CUdeviceptr block[2];
  if (argc != 2) return 2;
  const int own = strcmp(argv[1], "own") == 0;
  CHECK(cuInit(0));
  ask("without contexts");
  open_context(0, own);
  ask("with a context of one");
  open_context(1, own);
  ask("with contexts of both");
  CHECK(cuCtxSetCurrent(contexts[0]));
  enable();
  CHECK(cuMemAlloc(&block[0], 4 << 20));
  ask("with memory of one");
  enable();
  CHECK(cuCtxSetCurrent(contexts[1]));
  CHECK(cuMemAlloc(&block[1], 4 << 20));
  CHECK(cuCtxSetCurrent(contexts[0]));
  ask("with memory of both");
  pools();
  attributes(block[1]);
  return 0;
}
