/* Work alternately in a green context and in its primary context, over more memory than a small device holds.
 *
 * Usage: green_contexts KERNELS primary|green. The argument selects the context that is current when the blocks are
 * allocated. Half of them are added to in the green context, on a stream of its own and on its default stream, after a
 * slow host function; meanwhile the other half is used in the primary context, so that blocks have to be evicted.
 * Blocks are also freed on the green context's default stream, after work, and others allocated. At the end all numbers
 * are compared. Prints "ok" or what failed.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define BLOCKS 8
#define COUNT (1 << 19)
#define BYTES (COUNT * sizeof(int))
#define ROUNDS 8

static CUcontext primary, green;
static CUgreenCtx green_handle;
static CUfunction add_one;
static CUstream of_green, of_primary;
static CUdeviceptr block[BLOCKS];
static int expected[BLOCKS];

static void CUDA_CB take_time(void* unused) {
  (void)unused;
  usleep(10000);
}

static void make_green(CUdevice device) {
  CUdevResource whole;
  CUdevResourceDesc description;
  CHECK(cuDeviceGetDevResource(device, &whole, CU_DEV_RESOURCE_TYPE_SM));
  CHECK(cuDevResourceGenerateDesc(&description, &whole, 1));
  CHECK(cuGreenCtxCreate(&green_handle, description, device, CU_GREEN_CTX_DEFAULT_STREAM));
  CHECK(cuCtxFromGreenCtx(&green, green_handle));
  CHECK(cuGreenCtxStreamCreate(&of_green, green_handle, CU_STREAM_NON_BLOCKING, 0));
}

static void add_to(CUdeviceptr at, CUstream stream) {
  int count = COUNT;
  void* parameters[] = {&at, &count};
  CHECK(cuLaunchKernel(add_one, COUNT / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

static void add_to_half(int half, CUstream stream) {
  for (int i = half; i < BLOCKS; i += 2) {
    if (stream != of_primary) CHECK(cuLaunchHostFunc(stream, take_time, NULL));
    add_to(block[i], stream);
    ++expected[i];
  }
}

static void round_of(int half, CUstream in_green) {
  CHECK(cuCtxSetCurrent(green));
  add_to_half(half, in_green);
  CHECK(cuCtxSetCurrent(primary));
  add_to_half(1 - half, of_primary);
  CHECK(cuCtxSynchronize());
  CHECK(cuCtxSetCurrent(green));
  CHECK(cuStreamSynchronize(in_green));
  CHECK(cuCtxSetCurrent(primary));
}

/* A block that replaces one freed after queued work must not be added to. */
static void free_behind_work(void) {
  CUdeviceptr gone, next;
  CHECK(cuCtxSetCurrent(green));
  CHECK(cuMemAllocAsync(&gone, BYTES, NULL));
  CHECK(cuLaunchHostFunc(NULL, take_time, NULL));
  add_to(gone, NULL);
  CHECK(cuMemFreeAsync(gone, NULL));
  CHECK(cuCtxSetCurrent(primary));
  CHECK(cuMemAllocAsync(&next, BYTES, of_primary));
  CHECK(cuMemsetD32Async(next, 7, COUNT, of_primary));
  CHECK(cuCtxSynchronize());
  if (!block_holds(next, COUNT, -1, 7)) exit(1);
  CHECK(cuMemFree(next));
}

static int compare(void) {
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, expected[i])) return 1;
    CHECK(cuMemFree(block[i]));
  }
  puts("ok");
  return 0;
}

int main(int argc, char** argv) {
  CUmodule module;
  if (argc != 3) {
    fprintf(stderr, "usage: green_contexts KERNELS primary|green\n");
    return 2;
  }
  make_green(open_device(&primary));
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  CHECK(cuStreamCreate(&of_primary, CU_STREAM_NON_BLOCKING));
  CHECK(cuCtxSetCurrent(strcmp(argv[2], "green") == 0 ? green : primary));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], BYTES));
    CHECK(cuMemsetD32(block[i], (unsigned)i, COUNT));
    expected[i] = i;
  }
  CHECK(cuCtxSetCurrent(primary));
  CHECK(cuCtxSynchronize());
  for (int round = 0; round < ROUNDS; ++round) round_of(round % 2, round % 4 < 2 ? of_green : NULL);
  free_behind_work();
  CHECK(cuGreenCtxDestroy(green_handle));
  return compare();
}
