/* Prints what cuMemGetInfo tells beside one block of 2 MiB: "free 14 MiB of 64 MiB". */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

static void must(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "CUDA error %d\n", (int)result);
  exit(1);
}

int main(void) {
  CUdevice device;
  CUcontext context;
  CUdeviceptr block;
  size_t free_bytes, total_bytes;
  must(cuInit(0));
  must(cuDeviceGet(&device, 0));
  must(cuDevicePrimaryCtxRetain(&context, device));
  must(cuCtxSetCurrent(context));
  must(cuMemAlloc(&block, (size_t)2 << 20));
  must(cuMemGetInfo(&free_bytes, &total_bytes));
  printf("free %zu MiB of %zu MiB\n", free_bytes >> 20, total_bytes >> 20);
  must(cuMemFree(block));
  return 0;
}
