/* Prints the results of cuMemGetInfo before and after allocating one block of 2 MiB: "free 14 MiB of 64 MiB". */
#include <cuda.h>
#include <stdio.h>

#include "check.h"

static void tell(void) {
  size_t free_bytes, total_bytes;
  CHECK(cuMemGetInfo(&free_bytes, &total_bytes));
  printf("free %zu MiB of %zu MiB\n", free_bytes >> 20, total_bytes >> 20);
}

int main(void) {
  CUcontext context;
  CUdeviceptr block;
  open_device(&context);
  tell();
  CHECK(cuMemAlloc(&block, (size_t)2 << 20));
  tell();
  CHECK(cuMemFree(block));
  return 0;
}
