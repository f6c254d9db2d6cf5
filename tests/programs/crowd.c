/* Several threads, each with its own stream and blocks: together more than a device holds.
 *
 * Usage: crowd KERNELS. Each thread allocates, fills, adds, compares and frees in a loop. Prints "ok" or the first
 * failure.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define THREADS 4
#define ROUNDS 10
#define COUNT (1 << 19)

static CUcontext context;
static CUfunction add_one;

static CUdeviceptr make(int round, CUstream stream) {
  CUdeviceptr made;
  if (round % 2)
    CHECK(cuMemAlloc(&made, COUNT * sizeof(int)));
  else
    CHECK(cuMemAllocAsync(&made, COUNT * sizeof(int), stream));
  CHECK(cuMemsetD32Async(made, (unsigned)round, COUNT, stream));
  return made;
}

static void add(CUdeviceptr to, CUstream stream) {
  int count = COUNT;
  void* parameters[] = {&to, &count};
  CHECK(cuLaunchKernel(add_one, COUNT / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

static void compare(CUdeviceptr from, int expected, int* host, CUstream stream) {
  CHECK(cuMemcpyDtoHAsync(host, from, COUNT * sizeof(int), stream));
  CHECK(cuStreamSynchronize(stream));
  for (int n = 0; n < COUNT; ++n) {
    if (host[n] == expected) continue;
    fprintf(stderr, "number %d is %d, not %d\n", n, host[n], expected);
    exit(1);
  }
}

static void* work(void* unused) {
  int* const host = malloc(COUNT * sizeof(int));
  CUdeviceptr older = 0;
  CUstream stream;
  (void)unused;
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int round = 0; round < ROUNDS; ++round) {
    const CUdeviceptr newer = make(round, stream);
    add(newer, stream);
    if (older != 0) {
      add(older, stream);
      compare(older, round - 1 + 2, host, stream);
      CHECK(cuMemFreeAsync(older, stream));
    }
    older = newer;
  }
  compare(older, ROUNDS - 1 + 1, host, stream);
  CHECK(cuMemFree(older));
  CHECK(cuStreamDestroy(stream));
  free(host);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t thread[THREADS];
  CUmodule module;
  if (argc != 2) {
    fprintf(stderr, "usage: crowd KERNELS\n");
    return 2;
  }
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  for (int i = 0; i < THREADS; ++i) pthread_create(&thread[i], NULL, work, NULL);
  for (int i = 0; i < THREADS; ++i) pthread_join(thread[i], NULL);
  puts("ok");
  return 0;
}
