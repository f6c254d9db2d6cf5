/* Streams that are destroyed right after work was queued on them, over more memory than the device has.
 *
 * Each block is set on its own stream, which is destroyed at once; CUDA lets the work complete. Prints "ok" or the
 * first failure.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define BLOCKS 20
#define COUNT (1 << 20)

static void set_on_short_stream(CUdeviceptr block, unsigned value) {
  CUstream stream;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemsetD32Async(block, value, COUNT, stream));
  CHECK(cuStreamDestroy(stream));
}

static void expect(CUdeviceptr block, unsigned value) {
  static unsigned words[COUNT];
  CHECK(cuMemcpyDtoH(words, block, sizeof(words)));
  for (int i = 0; i < COUNT; ++i) {
    if (words[i] == value) continue;
    printf("word %d is %u instead of %u\n", i, words[i], value);
    exit(1);
  }
}

int main(void) {
  CUcontext context;
  CUdeviceptr blocks[BLOCKS];
  open_device(&context);
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemAlloc(&blocks[i], COUNT * sizeof(unsigned)));
  for (unsigned round = 1; round <= 4; ++round) {
    for (unsigned i = 0; i < BLOCKS; ++i) set_on_short_stream(blocks[i], round * 1000 + i);
    CHECK(cuCtxSynchronize());
    for (unsigned i = 0; i < BLOCKS; ++i) expect(blocks[i], round * 1000 + i);
  }
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemFree(blocks[i]));
  puts("ok");
  return 0;
}
