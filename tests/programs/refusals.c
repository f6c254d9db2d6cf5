/* Repeatedly requests more memory than any machine has, and prints how often that was refused. */
#include <cuda.h>
#include <stdio.h>

#include "check.h"

int main(void) {
  CUcontext context;
  CUdeviceptr address;
  int refused = 0;
  open_device(&context);
  for (int i = 0; i < 40; ++i) refused += cuMemAlloc(&address, (size_t)1 << 50) == CUDA_ERROR_OUT_OF_MEMORY;
  printf("%d\n", refused);
  return 0;
}
