/* A helper library creates its own contexts and allocates a little there; then a framework works in the primary
 * contexts, on each device in more memory than it has, while the helper continues.
 *
 * Usage: helper_context KERNELS keep|free|end|gone|late [DEVICES]. The helper's blocks are kept; freed and reallocated
 * in the middle; its contexts end in the middle; or before the framework starts. With "late" the helper uses the first
 * device alone, and the framework the last one first. Prints "ok" if every block has its owner's contents.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define COUNT (1 << 20)
#define FEW (1 << 18)
#define BLOCKS 10
#define ROUNDS 3
#define MOST 4

struct side {
  CUcontext context;
  CUfunction add_one;
};

static struct side helper[MOST], framework[MOST];
static CUdeviceptr own[MOST], block[MOST][BLOCKS];
static int right = 1, devices = 1, helped = 1;

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

static void begin(const char* kernels, const char* what) {
  CHECK(cuInit(0));
  for (int d = 0; d < helped; ++d) {
    CHECK(cuCtxCreate(&helper[d].context, NULL, 0, d));
    load(&helper[d], kernels);
    own[d] = make(&helper[d], FEW, 100);
  }
  if (strcmp(what, "gone") == 0) {
    for (int d = 0; d < helped; ++d) CHECK(cuCtxDestroy(helper[d].context));
  }
  for (int d = 0; d < devices; ++d) {
    CHECK(cuDevicePrimaryCtxRetain(&framework[d].context, d));
    load(&framework[d], kernels);
  }
  for (int d = devices - 1; d >= 0; --d) {
    for (int i = 0; i < BLOCKS; ++i) block[d][i] = make(&framework[d], COUNT, i);
  }
}

/* Returns the number that has been added to the helper's block by the end of the round. */
static int help(int d, int round, int added, const char* what) {
  if (strcmp(what, "gone") == 0 || (strcmp(what, "end") == 0 && round > 1)) return added;
  add(&helper[d], own[d], FEW);
  ++added;
  if (round != 1) return added;
  right &= block_holds(own[d], FEW, -1, 100 + added);
  if (strcmp(what, "end") == 0) CHECK(cuCtxDestroy(helper[d].context));
  if (strcmp(what, "free") != 0) return added;
  CHECK(cuMemFree(own[d]));
  if (cuMemFree(own[d]) == CUDA_SUCCESS) right = 0;
  own[d] = make(&helper[d], FEW, 100);
  return 0;
}

int main(int argc, char** argv) {
  int added[MOST] = {0};
  if (argc != 3 && argc != 4) return 2;
  const char* const what = argv[2];
  if (argc == 4) devices = atoi(argv[3]);
  if (devices < 1 || devices > MOST) return 2;
  helped = strcmp(what, "late") == 0 ? 1 : devices;
  begin(argv[1], what);
  for (int round = 0; round < ROUNDS; ++round) {
    for (int d = 0; d < devices; ++d) {
      for (int i = 0; i < BLOCKS; ++i) add(&framework[d], block[d][i], COUNT);
      if (d < helped) added[d] = help(d, round, added[d], what);
    }
  }
  for (int d = 0; d < helped && strcmp(what, "end") != 0 && strcmp(what, "gone") != 0; ++d) {
    CHECK(cuCtxSetCurrent(helper[d].context));
    right &= block_holds(own[d], FEW, -1, 100 + added[d]);
    CHECK(cuCtxDestroy(helper[d].context));
  }
  for (int d = 0; d < devices; ++d) {
    CHECK(cuCtxSetCurrent(framework[d].context));
    for (int i = 0; i < BLOCKS; ++i) right &= block_holds(block[d][i], COUNT, i, i + ROUNDS);
  }
  puts(right ? "ok" : "wrong");
  return 0;
}
