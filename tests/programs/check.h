/* Setup for driver programs, and termination with one line if a call fails: for test programs, which must not continue
 * after a failure.
 *
 * Thread safety: any thread.
 */
#ifndef TESSERA_PROGRAMS_CHECK_H
#define TESSERA_PROGRAMS_CHECK_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

static inline void check(CUresult result, const char* call) {
  const char* name = "unknown error";
  if (result == CUDA_SUCCESS) return;
  cuGetErrorName(result, &name);
  fprintf(stderr, "%s: %s\n", call, name);
  exit(1);
}
#define CHECK(call) check(call, #call)

/* Opens the first device and makes its primary context current. */
static inline CUdevice open_device(CUcontext* context) {
  CUdevice device;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(context, device));
  CHECK(cuCtxSetCurrent(*context));
  return device;
}

/* Whether all `count` numbers of a block equal the expected one; prints a line about the first that does not. */
static inline int block_holds(CUdeviceptr at, int count, int block, int expected) {
  int* const numbers = (int*)malloc((size_t)count * sizeof(int));
  int right = 0;
  CHECK(cuMemcpyDtoH(numbers, at, (size_t)count * sizeof(int)));
  while (right < count && numbers[right] == expected) ++right;
  if (right < count) {
    fprintf(stderr, "block %d, number %d: %d, not %d\n", block, right, numbers[right], expected);
  }
  free(numbers);
  return right == count;
}

#endif
