/* One block for everything, larger than the device: an arena that the program cuts itself.
 *
 * Usage: arena KERNELS MIB
 * Fills the block by copies and sets of pieces, tells Tessera the pieces if it is there, adds to each by a kernel that
 * gets the piece's address alone, and reads all of it back. Then launches a kernel on all of the block, which may fail.
 * Prints "ok", and "whole: " with the result of that.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "tessera/extents.h"
#include "tessera/interpose.h"

#define PIECE ((size_t)16 << 20)
#define COUNT ((int)(PIECE / sizeof(int)))
#define CHECKED 4096 /* numbers at both ends of a piece */

static CUmodule module;

static CUresult add_one(CUdeviceptr target, int count) {
  CUfunction function;
  void* parameters[] = {&target, &count};
  CHECK(cuModuleGetFunction(&function, module, "add_one"));
  const CUresult launched =
      cuLaunchKernel(function, ((unsigned)count + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL);
  if (launched != CUDA_SUCCESS) return launched;
  return cuCtxSynchronize();
}

/* Without Tessera in the process there is nothing to tell. */
static void tell(CUdeviceptr block, size_t pieces) {
  tessera_result (*shared)(tessera_allocator**);
  tessera_result (*set)(tessera_allocator*, tessera_address, const tessera_extent*, size_t);
  *(void**)&shared = dlsym(RTLD_DEFAULT, "tessera_shared");
  *(void**)&set = dlsym(RTLD_DEFAULT, "tessera_extents_set");
  if (shared == NULL || set == NULL) return;
  tessera_allocator* allocator = NULL;
  tessera_extent* const extents = calloc(pieces, sizeof(*extents));
  for (size_t i = 0; i < pieces; ++i) extents[i] = (tessera_extent){i * PIECE, PIECE};
  if (extents == NULL || shared(&allocator) != TESSERA_OK || set(allocator, block, extents, pieces) != TESSERA_OK) {
    fprintf(stderr, "the pieces could not be told\n");
    exit(1);
  }
  /* Mistakes change nothing. */
  const tessera_extent overlapping[] = {{0, 2}, {1, 2}}, outside = {pieces * PIECE, 1};
  if (set(allocator, block, overlapping, 2) != TESSERA_INVALID_ARGUMENT ||
      set(allocator, block, &outside, 1) != TESSERA_INVALID_ARGUMENT) {
    fprintf(stderr, "wrong pieces were accepted\n");
    exit(1);
  }
  free(extents);
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  CUcontext context;
  open_device(&context);
  CHECK(cuModuleLoad(&module, arguments[1]));
  const size_t pieces = ((size_t)atoi(arguments[2]) << 20) / PIECE;
  CUdeviceptr block;
  CHECK(cuMemAlloc(&block, pieces * PIECE));
  int* const numbers = malloc(PIECE);
  for (size_t i = 0; i < pieces; ++i) {
    const CUdeviceptr piece = block + i * PIECE;
    if (i % 2 == 0) {
      CHECK(cuMemsetD32(piece, (unsigned)(100 + i), COUNT));
      continue;
    }
    for (int at = 0; at < COUNT; ++at) numbers[at] = 100 + (int)i;
    CHECK(cuMemcpyHtoD(piece, numbers, PIECE));
  }
  for (size_t i = 0; i < pieces; ++i) {
    if (!block_holds(block + i * PIECE, CHECKED, (int)i, 100 + (int)i)) return 1;
  }
  tell(block, pieces);
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < pieces; ++i) CHECK(add_one(block + i * PIECE, COUNT));
  }
  for (size_t i = 0; i < pieces; ++i) {
    const CUdeviceptr piece = block + i * PIECE, end = piece + PIECE - CHECKED * sizeof(int);
    if (!block_holds(piece, CHECKED, (int)i, 102 + (int)i) || !block_holds(end, CHECKED, (int)i, 102 + (int)i))
      return 1;
  }
  /* Copies that cross the borders of parts. */
  CHECK(cuMemcpyDtoD(block, block + 3 * PIECE + PIECE / 2, PIECE));
  if (!block_holds(block, CHECKED, 0, 105) || !block_holds(block + PIECE / 2, CHECKED, 0, 106)) return 1;
  printf("ok\n");
  const char* name = "unknown";
  cuGetErrorName(cuMemsetD32(block, 7, pieces * PIECE / 4), &name);
  printf("whole: %s\n", name);
  CHECK(cuMemFree(block));
  free(numbers);
  return 0;
}
