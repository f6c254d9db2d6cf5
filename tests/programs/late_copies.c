/* Copies from handlers that run while the process ends: after what belongs to the thread is gone, and one
 * of them after all that was set up later.
 *
 * Prints "ok" for each of the two that finds its blocks to be what they were, and a block of its own
 * untouched beside it.
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

/* The smallest memory of the host there is: what is written behind its owner's back is seen in it. */
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

int main(void) {
  CUcontext context;
  atexit(copy_all); /* after the handlers of all that follows */
  open_device(&context);
  for (unsigned i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[i], i, COUNT));
  }
  atexit(copy_all);
  return block_holds(block[0], COUNT, 0, 0) ? 0 : 1;
}
