/* A helper library creates its own context and allocates a little there; then a framework works in the primary context,
 * in more memory than the device has, while the helper continues.
 *
 * Usage: helper_context KERNELS keep|free|end|gone. The helper's block is kept; freed and reallocated in the middle;
 * its context ends in the middle; or before the framework starts. Prints "ok" if every block has its owner's contents.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define COUNT (1 << 20)
#define FEW (1 << 18)
#define BLOCKS 10
#define ROUNDS 3

struct side {
  CUcontext context;
  CUfunction add_one;
};

static void load(struct side* side, const char* kernels) {
  CUmodule module;
  CHECK(cuCtxSetCurrent(side->context));
  CHECK(cuModuleLoad(&module, kernels));
  CHECK(cuModuleGetFunction(&side->add_one, module, "add_one"));
}

static void add(struct side* side, CUdeviceptr block, int count) {
  void* parameters[] = {&block, &count};
  CHECK(cuCtxSetCurrent(side->context));
  CHECK(cuLaunchKernel(side->add_one, (unsigned)count / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
}

static CUdeviceptr make(struct side* side, int count, int value) {
  CUdeviceptr block;
  CHECK(cuCtxSetCurrent(side->context));
  CHECK(cuMemAlloc(&block, (size_t)count * sizeof(int)));
  CHECK(cuMemsetD32(block, (unsigned)value, (size_t)count));
  return block;
}

int main(int argc, char** argv) {
  struct side helper, framework;
  CUdeviceptr own, block[BLOCKS];
  int right = 1, added = 0;
  if (argc != 3) return 2;
  CHECK(cuInit(0));
  CHECK(cuCtxCreate(&helper.context, NULL, 0, 0));
  load(&helper, argv[1]);
  own = make(&helper, FEW, 100);
  if (strcmp(argv[2], "gone") == 0) CHECK(cuCtxDestroy(helper.context));
  CHECK(cuDevicePrimaryCtxRetain(&framework.context, 0));
  load(&framework, argv[1]);
  for (int i = 0; i < BLOCKS; ++i) block[i] = make(&framework, COUNT, i);
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < BLOCKS; ++i) add(&framework, block[i], COUNT);
    if (strcmp(argv[2], "gone") == 0 || (strcmp(argv[2], "end") == 0 && round > 1)) continue;
    add(&helper, own, FEW);
    ++added;
    if (round != 1) continue;
    right &= block_holds(own, FEW, -1, 100 + added);
    if (strcmp(argv[2], "end") == 0) CHECK(cuCtxDestroy(helper.context));
    if (strcmp(argv[2], "free") != 0) continue;
    CHECK(cuMemFree(own));
    if (cuMemFree(own) == CUDA_SUCCESS) right = 0;
    added = 0;
    own = make(&helper, FEW, 100);
  }
  if (strcmp(argv[2], "keep") == 0 || strcmp(argv[2], "free") == 0) {
    CHECK(cuCtxSetCurrent(helper.context));
    right &= block_holds(own, FEW, -1, 100 + added);
    CHECK(cuCtxDestroy(helper.context));
  }
  CHECK(cuCtxSetCurrent(framework.context));
  for (int i = 0; i < BLOCKS; ++i) right &= block_holds(block[i], COUNT, i, i + ROUNDS);
  puts(right ? "ok" : "wrong");
  return 0;
}
