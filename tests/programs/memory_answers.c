/* The results of cuMemGetInfo, in every state in which a program can call it.
 *
 * Prints "ok", or the difference from CUDA's. Under Tessera the results are those of a device with the heap's memory.
 *
 * Thread safety: one thread besides main.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define MiB ((size_t)1 << 20)

static int wrong;

static void expect(const char* what, size_t got, size_t expected) {
  if (got == expected) return;
  fprintf(stderr, "%s: %zu KiB, not %zu\n", what, got >> 10, expected >> 10);
  wrong = 1;
}

static size_t free_now(void) {
  size_t free_bytes, total;
  CHECK(cuMemGetInfo(&free_bytes, &total));
  return free_bytes;
}

/* A thread without a context. */
static void* ask_without_context(void* result) {
  size_t free_bytes = 1, total = 1;
  *(CUresult*)result = cuMemGetInfo(&free_bytes, &total);
  return NULL;
}

int main(void) {
  CUcontext context;
  CUdeviceptr small, large;
  CUmemGenericAllocationHandle elsewhere;
  CUmemAllocationProp properties;
  CUstream stream;
  CUgraph graph;
  CUresult alone = CUDA_SUCCESS;
  pthread_t thread;
  size_t total = 0, only = 0, only_total = 0;
  const CUdevice device = open_device(&context);

  const size_t first = free_now();
  CHECK(cuMemAlloc(&small, 4096));
  expect("after the first 4 KiB", free_now(), first - 2 * MiB);
  CHECK(cuMemAlloc(&large, 6 * MiB));
  expect("after 6 MiB more", free_now(), first - 8 * MiB);

  CHECK(cuMemGetInfo(NULL, &only_total));
  CHECK(cuMemGetInfo(&only, NULL));
  CHECK(cuMemGetInfo(NULL, NULL));
  CHECK(cuMemGetInfo(&(size_t){0}, &total));
  expect("free alone", only, first - 8 * MiB);
  expect("total alone", only_total, total);

  memset(&properties, 0, sizeof(properties));
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  CHECK(cuMemCreate(&elsewhere, 10 * MiB, &properties, 0));
  expect("beside 10 MiB of the driver's", free_now(), first - 18 * MiB);
  CHECK(cuMemFree(large));
  expect("with 6 MiB freed", free_now(), first - 12 * MiB);
  CHECK(cuMemRelease(elsewhere));
  expect("with those freed", free_now(), first - 2 * MiB);

  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  expect("during a capture", free_now(), first - 2 * MiB);
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphDestroy(graph));

  if (pthread_create(&thread, NULL, ask_without_context, &alone) != 0) return 2;
  pthread_join(thread, NULL);
  if (alone != CUDA_ERROR_INVALID_CONTEXT) {
    fprintf(stderr, "without a context: %d\n", (int)alone);
    wrong = 1;
  }
  CHECK(cuMemFree(small));
  expect("with all freed", free_now(), first);
  if (wrong) return 1;
  puts("ok");
  return 0;
}
