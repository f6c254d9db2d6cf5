/* Creates a context, works in it, destroys it, and does the same again. Then tries to destroy the primary context,
 * which drivers refuse, and continues in it. Resets the primary context of another device, if there is one, which must
 * not create it.
 *
 * Prints "ok" if every block of every context had the contents that were written.
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

static void in_primary(CUdevice device) {
  static unsigned host[COUNT];
  CUcontext context;
  CUdeviceptr block;
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuMemAlloc(&block, sizeof(host)));
  CHECK(cuMemsetD32(block, 7, COUNT));
  if (cuCtxDestroy(context) == CUDA_SUCCESS) return; /* nothing of it is left */
  CHECK(cuMemcpyDtoH(host, block, sizeof(host)));
  for (int n = 0; n < COUNT; ++n) {
    if (host[n] != 7) exit(1);
  }
  CHECK(cuMemFree(block));
}

static void reset_other(void) {
  unsigned flags;
  int devices, active;
  CHECK(cuDeviceGetCount(&devices));
  if (devices == 1) return;
  CHECK(cuDevicePrimaryCtxReset(1));
  CHECK(cuDevicePrimaryCtxGetState(1, &flags, &active));
  if (active) exit(1);
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
  in_primary(device);
  reset_other();
  puts("ok");
  return 0;
}
