/* Blocks of twice the device memory that the heap may fill, written and read again. See README.md beside this file. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "tessera/tessera.h"

#define BLOCKS 16
#define BYTES (8u << 20)

static void check(int failed, const char* what) {
  if (!failed) return;
  fprintf(stderr, "%s: %s\n", what, tessera_last_error());
  exit(1);
}

int main(void) {
  CUdevice device;
  CUcontext context;
  check(cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context),
        "no device");

  tessera_options* options;
  tessera_allocator* heap;
  check(tessera_options_create(&options), "options");
  check(tessera_options_set(options, "device-memory", "64MiB"), "device-memory");
  check(tessera_options_set(options, "host-memory", "256MiB"), "host-memory");
  check(tessera_allocator_create(options, &heap), "the heap");
  tessera_options_destroy(options);

  tessera_address block[BLOCKS];
  for (unsigned number = 0; number < BLOCKS; ++number) {
    tessera_use use;
    check(tessera_malloc(heap, 0, BYTES, NULL, &block[number]), "a block");
    /* Work on a block is announced: until it is done, the block stays in device memory. */
    check(tessera_use_begin(heap, &block[number], 1, NULL, TESSERA_WRITE, &use), "a use");
    check(cuMemsetD32(block[number], number, BYTES / 4) != CUDA_SUCCESS, "cuMemsetD32");
    tessera_use_end(heap, &use);
  }
  for (unsigned number = 0; number < BLOCKS; ++number) {
    unsigned last = 0;
    tessera_use use;
    check(tessera_use_begin(heap, &block[number], 1, NULL, TESSERA_READ, &use), "a use");
    check(cuMemcpyDtoH(&last, block[number] + BYTES - 4, 4) != CUDA_SUCCESS, "cuMemcpyDtoH");
    tessera_use_end(heap, &use);
    check(last != number, "a wrong value");
  }

  tessera_stats stats = {.size = sizeof(stats)};
  check(tessera_get_stats(heap, &stats), "statistics");
  printf("%llu blocks of %u MiB, %llu MiB of device memory at most, %llu pages evicted: all values are right\n",
         (unsigned long long)stats.live_blocks, BYTES >> 20, (unsigned long long)(stats.device_peak >> 20),
         (unsigned long long)stats.evictions);
  for (unsigned number = 0; number < BLOCKS; ++number) check(tessera_free(heap, block[number], NULL), "a free");
  tessera_allocator_destroy(heap);
  return 0;
}
