/* Prints what cuMemGetInfo tells beside one block of 2 MiB: "free 14 MiB of 64 MiB". */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

int main(void) {
  CUcontext context;
  CUdeviceptr block;
  size_t free_bytes, total_bytes;
  open_device(&context);
  CHECK(cuMemAlloc(&block, (size_t)2 << 20));
  CHECK(cuMemGetInfo(&free_bytes, &total_bytes));
  printf("free %zu MiB of %zu MiB\n", free_bytes >> 20, total_bytes >> 20);
  CHECK(cuMemFree(block));
  return 0;
}
