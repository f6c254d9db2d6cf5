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

/* A block of `bytes` zeros, when it returns. */
static inline CUdeviceptr zeroed(size_t bytes, CUstream stream) {
  CUdeviceptr block;
  CHECK(cuMemAlloc(&block, bytes));
  CHECK(cuMemsetD32Async(block, 0, bytes / 4, stream));
  CHECK(cuStreamSynchronize(stream));
  return block;
}

/* Launches the module's kernel of this name, in blocks of up to 256 threads. */
static inline CUresult launch_threads(CUmodule module, const char* name, int threads, CUstream stream,
                                      void** parameters) {
  CUfunction function;
  const unsigned size = threads < 256 ? (unsigned)threads : 256;
  CHECK(cuModuleGetFunction(&function, module, name));
  return cuLaunchKernel(function, ((unsigned)threads + size - 1) / size, 1, 1, size, 1, 1, 0, stream, parameters, NULL);
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
