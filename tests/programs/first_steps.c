/* What the launches of a program's first steps cost the calling thread, while Tessera still learns from them.
 *
 * A program that fits into device memory is recorded for its first launches (128 Ki of them) and not afterwards, so a
 * loop over launches that starts later does not show this cost. Short runs of a program consist of nothing else.
 *
 * Usage: first_steps KERNELS BLOCKS BYTES LAUNCHES STEPS. Each of STEPS steps consists of the same LAUNCHES launches,
 * with up to sixteen addresses of BLOCKS blocks of BYTES. Prints nanoseconds per launch: the mean of all steps.
 */
#define _POSIX_C_SOURCE 200809L
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

#define POINTERS 16

static CUfunction sixteen, add_one;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* One of two kernels, in an order of which no part is like another. */
static void launch(CUstream stream, CUdeviceptr* blocks, long count, long place) {
  int none = 0;
  void* parameters[POINTERS];
  for (long i = 0; i < POINTERS; ++i) parameters[i] = &blocks[(3 * place + i % 4) % count];
  const int one = (unsigned)place * 2654435761u >> 16 & 1;
  if (one) parameters[1] = &none;
  CHECK(cuLaunchKernel(one ? add_one : sixteen, 2, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

int main(int argc, char** argv) {
  CUcontext context;
  CUmodule module;
  CUstream stream;
  if (argc != 6) {
    fprintf(stderr, "usage: first_steps KERNELS BLOCKS BYTES LAUNCHES STEPS\n");
    return 2;
  }
  const long count = atol(argv[2]), launches = atol(argv[4]), steps = atol(argv[5]);
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&sixteen, module, "sixteen"));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr* const blocks = malloc((size_t)count * sizeof(CUdeviceptr));
  for (long i = 0; i < count; ++i) CHECK(cuMemAllocAsync(&blocks[i], (size_t)atol(argv[3]), stream));
  const double start = now();
  for (long step = 0; step < steps; ++step) {
    for (long i = 0; i < launches; ++i) launch(stream, blocks, count, i);
    CHECK(cuStreamSynchronize(stream));
  }
  printf("%.0f\n", (now() - start) / (double)(launches * steps));
  free(blocks);
  return 0;
}
