/* Calls that programs make all the time, for tools that count what they cost
 * (tests/integration/instruction_counts_test.py): launches of sixty kernels in turn, pairs of an allocation from the
 * current pool and its free, and a launch after the program has used the caches for itself.
 *
 * Usage: hot_calls KERNELS. Each function runs twice, so that such a tool can leave the first time out. The launches
 * have no threads, which the driver only checks.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define POINTERS 16
#define BLOCKS 1000
#define KERNELS 60
#define ROUNDS 1000
#define NOTED (1 << 17)
#define NOTED_PAIRS (1 << 15)
#define LINE 64

static CUdeviceptr target[POINTERS];
static CUfunction kernels[KERNELS];
static CUstream stream;
static volatile char other_data[4 << 20];

static void launch(CUfunction kernel) {
  void* parameters[POINTERS];
  for (int i = 0; i < POINTERS; ++i) parameters[i] = &target[i];
  if (cuLaunchKernel(kernel, 0, 1, 1, 1, 1, 1, 0, stream, parameters, NULL) == CUDA_SUCCESS) exit(1);
}

static void pair(void) {
  CUdeviceptr block;
  CHECK(cuMemAllocAsync(&block, 4096, stream));
  CHECK(cuMemFreeAsync(block, stream));
}

__attribute__((noinline)) static void sixty_kernels(void) {
  for (int i = 0; i < ROUNDS; ++i) launch(kernels[i % KERNELS]);
}

__attribute__((noinline)) static void pooled_pairs(void) {
  for (int i = 0; i < ROUNDS; ++i) pair();
}

__attribute__((noinline)) static void cold_launch(void) { launch(kernels[0]); }

static void use_the_caches(void) {
  for (size_t i = 0; i < sizeof(other_data); i += LINE) other_data[i] = 1;
}

int main(int argc, char** argv) {
  CUcontext context;
  CUmodule module;
  if (argc != 2) {
    fprintf(stderr, "usage: hot_calls KERNELS\n");
    return 2;
  }
  open_device(&context);
  for (int i = 0; i < KERNELS; ++i) {
    CHECK(cuModuleLoad(&module, argv[1]));
    CHECK(cuModuleGetFunction(&kernels[i], module, "sixteen"));
  }
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < BLOCKS; ++i) {
    CUdeviceptr made;
    CHECK(cuMemAlloc(&made, 512));
    target[i * POINTERS / BLOCKS] = made;
  }
  for (int i = 0; i < NOTED; ++i) launch(kernels[0]);
  for (int i = 0; i < NOTED_PAIRS; ++i) pair();
  for (int time = 0; time < 2; ++time) {
    sixty_kernels();
    pooled_pairs();
    use_the_caches();
    cold_launch();
  }
  return 0;
}
