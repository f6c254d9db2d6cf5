/* Makes a context of its own, works in it, destroys it, and does the same again.
 *
 * Prints "ok" when every block of every context was what had been written.
 */
#define CUDA_ENABLE_DEPRECATED
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define COUNT (1 << 20)
#define BLOCKS 12

static void work(unsigned seed) {
  static unsigned host[COUNT];
  CUdeviceptr block[BLOCKS];
  for (unsigned i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], sizeof(host)));
    CHECK(cuMemsetD32(block[i], seed + i, COUNT));
  }
  for (unsigned i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemcpyDtoH(host, block[i], sizeof(host)));
    for (int n = 0; n < COUNT; ++n) {
      if (host[n] != seed + i) exit(1);
    }
  }
}

int main(void) {
  CUdevice device;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  for (unsigned round = 0; round < 3; ++round) {
    CUcontext context;
    CHECK(cuCtxCreate(&context, NULL, 0, device));
    work(round * 100);
    if (round == 1) { /* the old way: by its last user */
      CHECK(cuCtxAttach(&context, 0));
      CHECK(cuCtxDetach(context));
      work(round * 100 + 50);
      CHECK(cuCtxDetach(context));
    } else {
      CHECK(cuCtxDestroy(context)); /* its memory goes with it */
    }
  }
  puts("ok");
  return 0;
}
