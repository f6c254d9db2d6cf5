/* Trims pools and graph memory: Tessera's free memory has to be returned with them, down to the amount
 * that the call lets the pool keep. The amount that Tessera holds is queried through its C API, found in the process as
 * the preload library is.
 *
 * Prints "ok", or the amount held.
 *
 * Thread safety: one thread.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tessera/interpose.h"

#define MiB ((size_t)1 << 20)

static CUdevice device;
static CUstream stream;
static int wrong;

static size_t held(void) {
  tessera_result (*const shared)(tessera_allocator**) =
      (tessera_result(*)(tessera_allocator**))dlsym(RTLD_DEFAULT, "tessera_shared");
  tessera_result (*const statistics)(tessera_allocator*, tessera_stats*) =
      (tessera_result(*)(tessera_allocator*, tessera_stats*))dlsym(RTLD_DEFAULT, "tessera_get_stats");
  tessera_allocator* allocator = NULL;
  tessera_stats stats;
  memset(&stats, 0, sizeof(stats));
  stats.size = sizeof(stats);
  if (shared == NULL || statistics == NULL || shared(&allocator) != TESSERA_OK ||
      statistics(allocator, &stats) != TESSERA_OK) {
    fprintf(stderr, "not under Tessera\n");
    exit(2);
  }
  return stats.device_used + stats.device_spare;
}

static void expect_held(const char* when, size_t least, size_t most) {
  const size_t now = held();
  if (now >= least && now <= most) return;
  fprintf(stderr, "%s: %zu MiB are held\n", when, now / MiB);
  wrong = 1;
}

/* Leaves 24 MiB unused by any block, with all work on it complete. */
static void use_and_free(CUmemoryPool pool) {
  CUdeviceptr blocks[6];
  for (int i = 0; i < 6; ++i) {
    CHECK(cuMemAllocFromPoolAsync(&blocks[i], 4 * MiB, pool, stream));
    CHECK(cuMemsetD8Async(blocks[i], 1, 4 * MiB, stream));
  }
  for (int i = 0; i < 6; ++i) CHECK(cuMemFreeAsync(blocks[i], stream));
  CHECK(cuStreamSynchronize(stream));
  expect_held("after use", 24 * MiB, 24 * MiB);
}

int main(void) {
  CUcontext context;
  CUmemoryPool usual, own;
  CUmemPoolProps properties;
  cuuint64_t all = ~(cuuint64_t)0, some = 8 * MiB, none = 0;
  device = open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuDeviceGetDefaultMemPool(&usual, device));
  memset(&properties, 0, sizeof(properties));
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  CHECK(cuMemPoolCreate(&own, &properties));

  use_and_free(usual);
  CHECK(cuMemPoolTrimTo(own, 0));
  expect_held("after another pool's trim", 24 * MiB, 24 * MiB);
  CHECK(cuMemPoolTrimTo(usual, 10 * MiB));
  expect_held("after a trim to 10 MiB", 2 * MiB, 10 * MiB);
  CHECK(cuMemPoolTrimTo(usual, 0));
  expect_held("after a trim", 0, 0);

  use_and_free(usual);
  CHECK(cuMemPoolSetAttribute(usual, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
  expect_held("with no threshold", 24 * MiB, 24 * MiB);
  CHECK(cuMemPoolSetAttribute(usual, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &some));
  expect_held("with a threshold of 8 MiB", 2 * MiB, 8 * MiB);
  CHECK(cuMemPoolSetAttribute(usual, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none));
  expect_held("with a threshold of 0", 0, 0);

  use_and_free(usual);
  CHECK(cuDeviceGraphMemTrim(device));
  expect_held("after a trim of graphs' memory", 0, 0);
  use_and_free(own);
  CHECK(cuMemPoolTrimTo(own, 10 * MiB));
  /* The blocks may have shared pages of 16 and 8 MiB, which go as a whole. */
  expect_held("after a trim of the program's pool to 10 MiB", 0, 10 * MiB);
  CHECK(cuMemPoolTrimTo(own, 0));
  expect_held("after a trim of the program's pool", 0, 0);
  use_and_free(own);
  CHECK(cuMemPoolDestroy(own));
  expect_held("after the program's pool has ended", 0, 0);
  use_and_free(usual);
  if (wrong) return 1;
  puts("ok");
  return 0;
}
