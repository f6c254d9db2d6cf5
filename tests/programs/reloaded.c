/* Loads and unloads kernels again and again, over more memory than a small device holds.
 *
 * Usage: reloaded KERNELS. A driver gives the handle of a function that is gone to the next one, whose
 * parameters lie elsewhere; so kernels of two kinds take turns, each on a block that is gone. At the end
 * all numbers are compared. Prints "ok" or what failed.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 18)
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

/* Twice of one kind, then twice of the other: handles that take turns get both. */
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
  CHECK(cuLibraryLoadFromFile(&library, file, NULL, NULL, 0, NULL, NULL, 0));
  CHECK(cuLibraryGetKernel(&kernel, library, kinds[round / 2 % 2]));
  use((CUfunction)kernel, round, target);
  CHECK(cuLibraryUnload(library));
}

int main(int argc, char** argv) {
  static CUdeviceptr block[BLOCKS];
  CUcontext context;
  if (argc != 2) {
    fprintf(stderr, "usage: reloaded KERNELS\n");
    return 2;
  }
  open_device(&context);
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[i], (unsigned)i, COUNT));
  }
  for (int round = 0; round < ROUNDS; ++round) {
    const CUdeviceptr target = block[round % BLOCKS];
    round < ROUNDS / 2 ? by_module(argv[1], round, target) : by_library(argv[1], round, target);
  }
  int* const numbers = malloc(COUNT * sizeof(int));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemcpyDtoH(numbers, block[i], COUNT * sizeof(int)));
    for (int n = 0; n < COUNT; ++n) {
      if (numbers[n] == i + ROUNDS / BLOCKS) continue;
      fprintf(stderr, "block %d, number %d: %d, not %d\n", i, n, numbers[n], i + ROUNDS / BLOCKS);
      return 1;
    }
  }
  free(numbers);
  puts("ok");
  return 0;
}
