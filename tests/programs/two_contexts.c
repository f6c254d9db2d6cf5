/* Works alternately in two contexts of one device, with four blocks in each.
 *
 * Usage: two_contexts KERNELS. Prints "ok" if every block has its own context's contents.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define COUNT (1 << 19)
#define BLOCKS 4
#define ROUNDS 3

struct side {
  CUcontext context;
  CUfunction add_one;
  CUdeviceptr block[BLOCKS];
};

static void begin(struct side* side, const char* kernels) {
  CUmodule module;
  CHECK(cuCtxSetCurrent(side->context));
  CHECK(cuModuleLoad(&module, kernels));
  CHECK(cuModuleGetFunction(&side->add_one, module, "add_one"));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&side->block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(side->block[i], (unsigned)i, COUNT));
  }
}

static void add(struct side* side) {
  int count = COUNT;
  CHECK(cuCtxSetCurrent(side->context));
  for (int i = 0; i < BLOCKS; ++i) {
    void* parameters[] = {&side->block[i], &count};
    CHECK(cuLaunchKernel(side->add_one, COUNT / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
  }
}

static void compare(struct side* side) {
  int* const numbers = malloc(COUNT * sizeof(int));
  CHECK(cuCtxSetCurrent(side->context));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemcpyDtoH(numbers, side->block[i], COUNT * sizeof(int)));
    for (int n = 0; n < COUNT; ++n) {
      if (numbers[n] == i + ROUNDS) continue;
      fprintf(stderr, "block %d, number %d: %d, not %d\n", i, n, numbers[n], i + ROUNDS);
      exit(1);
    }
    CHECK(cuMemFree(side->block[i]));
  }
  free(numbers);
}

int main(int argc, char** argv) {
  struct side sides[2];
  if (argc != 2) {
    fprintf(stderr, "usage: two_contexts KERNELS\n");
    return 2;
  }
  const CUdevice device = open_device(&sides[0].context);
  CHECK(cuCtxCreate(&sides[1].context, NULL, 0, device));
  for (int i = 0; i < 2; ++i) begin(&sides[i], argv[1]);
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < 2; ++i) add(&sides[i]);
  }
  for (int i = 0; i < 2; ++i) compare(&sides[i]);
  CHECK(cuCtxDestroy(sides[1].context));
  puts("ok");
  return 0;
}
