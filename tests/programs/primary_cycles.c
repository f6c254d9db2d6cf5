/* Retains the primary context, works in more memory than the device has, and gives the context back, many times over.
 *
 * Usage: primary_cycles release|reset|both alive|freed. "alive" leaves the blocks to the end of their context. Prints
 * "ok" when every block of every cycle was what it was set to, and neither files nor device memory were left over.
 */
#include <cuda.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define CYCLES 8
#define BLOCKS 5
#define COUNT (1 << 20)

static int open_files(void) {
  DIR* const folder = opendir("/proc/self/fd");
  int files = 0;
  while (readdir(folder) != NULL) ++files;
  closedir(folder);
  return files;
}

static int cycle(int number, const char* end, int freed) {
  CUcontext context;
  CUdeviceptr block[BLOCKS];
  unsigned flags;
  int right = 1, active;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0)); /* a library of the program's does so too, */
  CHECK(cuDevicePrimaryCtxRelease(0));          /* and is done sooner */
  CHECK(cuCtxSetCurrent(context));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[i], (unsigned)(number + i), COUNT));
  }
  for (int i = 0; i < BLOCKS; ++i) right &= block_holds(block[i], COUNT, i, number + i);
  for (int i = 0; freed && i < BLOCKS; ++i) CHECK(cuMemFree(block[i]));
  CHECK(cuCtxSetCurrent(NULL));
  if (strcmp(end, "release") != 0) CHECK(cuDevicePrimaryCtxReset(0));
  if (strcmp(end, "reset") != 0) {
    CHECK(cuDevicePrimaryCtxRelease(0));
    CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    if (active) printf("cycle %d: the context is still there\n", number);
    right &= !active;
  }
  return right;
}

int main(int argc, char** argv) {
  int right = 1, first = 0;
  if (argc != 3) return 2;
  CHECK(cuInit(0));
  for (int i = 0; i < CYCLES; ++i) {
    right &= cycle(i, argv[1], strcmp(argv[2], "freed") == 0);
    if (i == 1) first = open_files();
  }
  if (open_files() > first) printf("%d files more\n", open_files() - first);
  puts(right && open_files() <= first ? "ok" : "wrong");
  return 0;
}
