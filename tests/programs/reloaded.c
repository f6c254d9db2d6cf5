/* Loads and unloads kernels repeatedly, over more memory than a small device holds.
 *
 * Usage: reloaded KERNELS. A driver may reuse the handle of an unloaded function for the next one, with another
 * parameter layout; so two kinds of kernels alternate, each on an evicted block. They end with their module, their
 * library, or their context. All numbers are compared. Prints "ok" or what failed.
 */
#include <cuda.h>
#include <stdio.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 19)
#define ROUNDS (4 * BLOCKS)

struct __attribute__((packed)) packed {
  char before;
  CUdeviceptr target;
  char between[2];
  int count;
};

static const unsigned grid = (COUNT + 255) / 256;
static const char* const kinds[] = {"add_one", "add_packed"};

static void launch(CUfunction function, void** parameters) {
  CHECK(cuLaunchKernel(function, grid, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
  CHECK(cuCtxSynchronize());
}

/* Twice one kind, then twice the other, so that alternating handles get both. */
static void use(CUfunction function, int round, CUdeviceptr target) {
  int count = COUNT;
  struct packed packed = {1, target, {2, 3}, COUNT};
  void *plain[] = {&target, &count}, *hidden[] = {&packed};
  launch(function, round / 2 % 2 == 0 ? plain : hidden);
}

static void by_module(const char* file, int round, CUdeviceptr target) {
  CUmodule module;
  CUfunction function;
  CHECK(cuModuleLoad(&module, file));
  CHECK(cuModuleGetFunction(&function, module, kinds[round / 2 % 2]));
  use(function, round, target);
  CHECK(cuModuleUnload(module));
}

static void by_library(const char* file, int round, CUdeviceptr target) {
  CUlibrary library;
  CUkernel kernel;
  CUfunction function;
  CHECK(cuLibraryLoadFromFile(&library, file, NULL, NULL, 0, NULL, NULL, 0));
  CHECK(cuLibraryGetKernel(&kernel, library, kinds[round / 2 % 2]));
  CHECK(cuKernelGetFunction(&function, kernel));
  use(round % 2 == 0 ? (CUfunction)kernel : function, round, target);
  CHECK(cuLibraryUnload(library));
}

/* In a new context: as many blocks as before, of which the kernel uses the oldest. */
static int in_context(const char* file, int round) {
  CUdeviceptr block[BLOCKS];
  CUmodule module;
  CUfunction function;
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[i], (unsigned)i, COUNT));
  }
  CHECK(cuModuleLoad(&module, file));
  CHECK(cuModuleGetFunction(&function, module, kinds[round / 2 % 2]));
  use(function, round, block[0]);
  return block_holds(block[0], COUNT, 0, 1);
}

static int by_context(const char* file, int round, CUdevice device) {
  CUcontext context;
  CHECK(cuCtxCreate(&context, NULL, 0, device));
  const int right = in_context(file, round);
  CHECK(cuCtxDestroy(context));
  return right;
}

/* The blocks go with the context, which ends however often it was retained. */
static void reset(CUdevice device) {
  CUdeviceptr block;
  CHECK(cuDevicePrimaryCtxReset(device));
  if (cuMemAlloc(&block, COUNT) == CUDA_ERROR_CONTEXT_IS_DESTROYED) return;
  fputs("a context that was reset still works\n", stderr);
  exit(1);
}

static int by_reset(const char* file, int round, CUdevice device) {
  CUcontext context;
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  const int right = in_context(file, round);
  reset(device);
  return right;
}

int main(int argc, char** argv) {
  static CUdeviceptr block[BLOCKS];
  CUcontext context;
  if (argc != 2) {
    fprintf(stderr, "usage: reloaded KERNELS\n");
    return 2;
  }
  const CUdevice device = open_device(&context);
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[i], (unsigned)i, COUNT));
  }
  for (int round = 0; round < ROUNDS; ++round) {
    const CUdeviceptr target = block[round % BLOCKS];
    round < ROUNDS / 2 ? by_module(argv[1], round, target) : by_library(argv[1], round, target);
  }
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, i + ROUNDS / BLOCKS)) return 1;
  }
  reset(device);
  for (int round = 0; round < 8; ++round) {
    if (!by_reset(argv[1], round, device)) return 1;
  }
  for (int round = 0; round < 8; ++round) {
    if (!by_context(argv[1], round, device)) return 1;
  }
  puts("ok");
  return 0;
}
