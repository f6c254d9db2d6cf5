/* Launches of kernels whose parameters have arrays of addresses that are filled in part: the other entries are left
 * over from earlier launches, and name more blocks than the device has room for.
 *
 * Usage: leftover_entries KERNELS. A device that holds five blocks of 4 MiB suffices. Three blocks are concatenated to
 * a fourth, and two blocks are added to two others, as PyTorch does it; at the end all numbers are compared. Prints
 * "ok" or what failed.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define BLOCKS 24
#define COUNT (1 << 20)
#define PART (COUNT / 4)
#define CHUNK (1 << 16)

struct inputs {
  CUdeviceptr input[128];
  unsigned offset[128], size[128], elements[128];
  char contiguous[128];
  unsigned strides[8];
};

struct tensor_lists {
  CUdeviceptr addresses[2][64];
  long long elements[64];
  unsigned char tensor_of_block[320];
  int part_of_block[320];
  int first;
};

static CUdeviceptr block[BLOCKS];
static int expected[BLOCKS];
static CUfunction concatenate, add_lists;

/* The first quarters of three blocks, one behind the other. */
static void by_concatenation(int round) {
  static struct inputs inputs;
  const int to = round % BLOCKS;
  for (int i = 0; i < 128; ++i) inputs.input[i] = block[i % BLOCKS];
  for (int i = 0; i < 3; ++i) {
    inputs.input[i] = block[(to + 1 + i) % BLOCKS];
    inputs.offset[i] = (unsigned)i * PART;
    inputs.size[i] = PART;
    inputs.elements[i] = PART;
  }
  void* parameters[] = {&block[to], &inputs};
  CHECK(cuLaunchKernel(concatenate, PART / 256, 3, 1, 256, 1, 1, 0, NULL, parameters, NULL));
}

static void by_lists(int round) {
  static struct tensor_lists lists;
  const int a = round % BLOCKS, b = (round + 7) % BLOCKS;
  const int from_a = (round + 3) % BLOCKS, from_b = (round + 11) % BLOCKS;
  const int blocks_of_a = COUNT / CHUNK;
  for (int i = 0; i < 64; ++i) lists.addresses[0][i] = lists.addresses[1][i] = block[i % BLOCKS];
  lists.addresses[0][0] = block[a];
  lists.addresses[1][0] = block[from_a];
  lists.addresses[0][1] = block[b];
  lists.addresses[1][1] = block[from_b];
  lists.elements[0] = lists.elements[1] = COUNT;
  for (int i = 0; i < 2 * blocks_of_a; ++i) {
    lists.tensor_of_block[i] = (unsigned char)(i / blocks_of_a);
    lists.part_of_block[i] = i % blocks_of_a;
  }
  void* parameters[] = {&lists};
  CHECK(cuLaunchKernel(add_lists, (unsigned)(2 * blocks_of_a), 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
  expected[a] += expected[from_a];
  expected[b] += expected[from_b];
}

/* What a concatenation has left in the block is the same number again, which the sums need. */
static void restore(int at) { CHECK(cuMemsetD32(block[at], (unsigned)expected[at], COUNT)); }

static int holds_parts(int to) {
  static int found[COUNT];
  CHECK(cuMemcpyDtoH(found, block[to], sizeof(found)));
  for (int i = 0; i < 3 * PART; ++i) {
    const int wanted = expected[(to + 1 + i / PART) % BLOCKS];
    if (found[i] == wanted) continue;
    printf("block %d: number %d is %d, expected %d\n", to, i, found[i], wanted);
    return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  CUcontext context;
  CUmodule module;
  if (argc != 2) {
    fprintf(stderr, "usage: leftover_entries KERNELS\n");
    return 2;
  }
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&concatenate, module, "CatArrayBatchedCopy_of_words"));
  CHECK(cuModuleGetFunction(&add_lists, module, "multi_tensor_apply_kernel_18TensorListMetadataILi2E"));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    expected[i] = i + 1;
    restore(i);
  }
  for (int round = 0; round < 12; ++round) {
    by_lists(5 * round);
    by_concatenation(round);
    if (!holds_parts(round % BLOCKS)) return 1;
    restore(round % BLOCKS);
  }
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, expected[i])) return 1;
  }
  puts("ok");
  return 0;
}
