/* Retains the primary contexts of some devices, uses more memory than these have, and releases the contexts, many
 * times.
 *
 * Usage: primary_cycles release|reset|both alive|freed DEVICES. "alive" leaves the blocks to the end of their context.
 * Prints "ok" if every block of every cycle had its contents, and neither files nor device memory were left over.
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

static int work(int device, int number, int freed) {
  CUcontext context;
  CUdeviceptr block[BLOCKS];
  int right = 1;
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuDevicePrimaryCtxRetain(&context, device)); /* a library of the program's does so too, */
  CHECK(cuDevicePrimaryCtxRelease(device));          /* and is done sooner */
  CHECK(cuCtxSetCurrent(context));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[i], (unsigned)(number + i), COUNT));
  }
  for (int i = 0; i < BLOCKS; ++i) right &= block_holds(block[i], COUNT, i, number + i);
  for (int i = 0; freed && i < BLOCKS; ++i) CHECK(cuMemFree(block[i]));
  CHECK(cuCtxSetCurrent(NULL));
  return right;
}

static int cycle(int devices, int number, const char* end, int freed) {
  int right = 1;
  for (int device = 0; device < devices; ++device) right &= work(device, number + device, freed);
  for (int device = 0; device < devices; ++device) {
    if (strcmp(end, "release") != 0) CHECK(cuDevicePrimaryCtxReset(device));
    if (strcmp(end, "reset") != 0) CHECK(cuDevicePrimaryCtxRelease(device));
  }
  for (int device = 0; strcmp(end, "reset") != 0 && device < devices; ++device) {
    unsigned flags;
    int active;
    CHECK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    if (active) printf("cycle %d: the context of device %d still exists\n", number, device);
    right &= !active;
  }
  return right;
}

int main(int argc, char** argv) {
  int right = 1, first = 0;
  if (argc != 4) return 2;
  CHECK(cuInit(0));
  for (int i = 0; i < CYCLES; ++i) {
    right &= cycle(atoi(argv[3]), i, argv[1], strcmp(argv[2], "freed") == 0);
    if (i == 1) first = open_files();
  }
  if (open_files() > first) printf("%d files more\n", open_files() - first);
  puts(right && open_files() <= first ? "ok" : "wrong");
  return 0;
}
