/* Copies in handlers that run while the process ends: after thread-local data is gone, and one of them after everything
 * that was set up later.
 *
 * Prints "ok" for each of the two if its blocks, and host memory of its own, are unchanged. A third handler, which was
 * registered before the driver was initialised, runs after the driver's own, and prints the number of its error.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define COUNT (1 << 20)
#define BLOCKS 16
#define OWN 64

static CUdeviceptr block[BLOCKS];

/* Checks all blocks. The smallest host allocations are made first, in which stray writes would show. */
static void copy_all(void) {
  static const char pattern[16] = "unchanged";
  char* own[OWN];
  for (int i = 0; i < OWN; ++i) own[i] = memcpy(malloc(sizeof(pattern)), pattern, sizeof(pattern));
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, i)) _Exit(1);
  }
  for (int i = 0; i < OWN; ++i) {
    if (memcmp(own[i], pattern, sizeof(pattern)) != 0) {
      fputs("memory of the host was written\n", stderr);
      _Exit(1);
    }
    free(own[i]);
  }
  puts("ok");
  fflush(stdout);
}

static void copy_too_late(void) {
  const char* name = "no name";
  int number;
  const CUresult result = cuMemcpyDtoH(&number, block[0], sizeof(number));
  cuGetErrorName(result, &name);
  printf("%d, %s, %d\n", (int)result, name, (int)cuInit(0));
  fflush(stdout);
}

int main(void) {
  CUcontext context;
  atexit(copy_too_late);
  open_device(&context);
  atexit(copy_all); /* after the handlers of all that follows but the driver's */
  for (unsigned i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[i], i, COUNT));
  }
  atexit(copy_all);
  return block_holds(block[0], COUNT, 0, 0) ? 0 : 1;
}
