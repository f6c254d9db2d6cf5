/* Allocates from the default pool, from a pool of its own, and from one that it has made current.
 *
 * Prints "ok" if each block had the contents that were written.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define COUNT (1 << 19)
#define BYTES (COUNT * sizeof(unsigned))

static CUstream stream;

static int holds(CUdeviceptr block, unsigned value) {
  static unsigned words[COUNT];
  CHECK(cuMemsetD32Async(block, value, COUNT, stream));
  CHECK(cuMemcpyDtoHAsync(words, block, BYTES, stream));
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < COUNT; ++i) {
    if (words[i] != value) return 0;
  }
  CHECK(cuMemFreeAsync(block, stream));
  return 1;
}

int main(void) {
  CUcontext context;
  CUmemoryPool usual, own;
  CUmemPoolProps props;
  CUdeviceptr block[4];
  const CUdevice device = open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuDeviceGetMemPool(&usual, device));
  memset(&props, 0, sizeof(props));
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = device;
  CHECK(cuMemPoolCreate(&own, &props));
  CHECK(cuMemAllocAsync(&block[0], BYTES, stream));
  CHECK(cuMemAllocFromPoolAsync(&block[1], BYTES, own, stream));
  CHECK(cuDeviceSetMemPool(device, own));
  CHECK(cuMemAllocAsync(&block[2], BYTES, stream));
  CHECK(cuDeviceSetMemPool(device, usual));
  CHECK(cuMemAllocAsync(&block[3], BYTES, stream));
  for (unsigned i = 0; i < 4; ++i) {
    if (!holds(block[i], i + 1)) return 1;
  }
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemPoolDestroy(own));
  puts("ok");
  return 0;
}
