/* Launches with parameters full of numbers that look like addresses, where blocks lie at low addresses as on drivers
 * that ignore hints: no launch runs out of memory, and real addresses are found.
 *
 * Usage: number_structs KERNELS. Kernels get two blocks that nearly fill a small device and a struct like PyTorch's
 * index calculators, which divide by multiplying and shifting; others find addresses among such numbers, or a scale and
 * a count. A table of 32-bit numbers is copied to the device, like those of a paged cache. The numbers look like the
 * addresses of blocks that are never used. At the end all numbers are compared. Prints "ok" or what failed.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define UNUSED 18
#define UNUSED_BYTES (32 << 20)
#define BLOCKS 8
#define COUNT (3 << 20)
#define DIVIDERS 25
#define PAGES (1 << 14)

struct divider {
  unsigned divisor, multiplier, shift;
};

struct calculator {
  int dims;
  struct divider sizes[DIVIDERS];
  unsigned strides[DIVIDERS][2];
};

struct lists {
  int count;
  CUdeviceptr targets[3];
  CUdeviceptr source;
};

/* A small single-precision number, then a count: as a word, an address at four times `count` GiB. */
struct scaled {
  CUdeviceptr target;
  struct {
    float scale;
    int count;
  } parts[16];
};

static CUdeviceptr block[BLOCKS], pages;
static int expected[BLOCKS];
static CUfunction add_calculated, add_to_lists, add_scaled, add_one;

static void launch(CUfunction function, void** parameters) {
  CHECK(cuLaunchKernel(function, COUNT / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
}

/* The smallest shift with 2^shift >= divisor; the multiplier is 2^32 (2^shift - divisor) / divisor + 1. */
static struct divider divider_for(unsigned divisor) {
  struct divider divider = {divisor, 0, 0};
  while ((1ull << divider.shift) < divisor) ++divider.shift;
  divider.multiplier = (unsigned)(((1ull << 32) * ((1ull << divider.shift) - divisor)) / divisor + 1);
  return divider;
}

static struct calculator calculator_for(int seed) {
  struct calculator calculator;
  memset(&calculator, 0, sizeof(calculator));
  calculator.dims = COUNT;
  for (int i = 0; i < DIVIDERS; ++i) {
    calculator.sizes[i] = divider_for((unsigned)(3 + 7 * ((seed + i) % 40)));
    calculator.strides[i][0] = 4u << i % 20;
    calculator.strides[i][1] = (unsigned)(i + 1);
  }
  return calculator;
}

/* Two blocks fill the whole device. */
static void by_calculator(int to) {
  struct calculator calculator = calculator_for(to);
  const int from = (to + 1) % BLOCKS;
  void* parameters[] = {&block[to], &block[from], &calculator};
  launch(add_calculated, parameters);
  expected[to] += expected[from];
}

/* Two of the addresses are inside a block: only their position in the struct identifies them. */
static void by_struct(int to) {
  const int from = (to + 5) % BLOCKS;
  const size_t third = COUNT / 3 * sizeof(int);
  struct lists lists = {COUNT / 3, {block[to], block[to] + third, block[to] + 2 * third}, block[from]};
  void* parameters[] = {&lists};
  launch(add_to_lists, parameters);
  expected[to] += expected[from];
}

static void by_scaled(int to) {
  struct scaled scaled;
  memset(&scaled, 0, sizeof(scaled));
  scaled.target = block[to];
  for (int i = 0; i < 16; ++i) {
    scaled.parts[i].scale = 1e-20f / (float)(i + 1);
    scaled.parts[i].count = i == 0 ? COUNT : 3;
  }
  void* parameters[] = {&scaled};
  launch(add_scaled, parameters);
  ++expected[to];
}

/* A table of pages, and a kernel that gets it and one block. */
static void by_pages(int to) {
  static int numbers[PAGES];
  int none = 0, count = COUNT;
  for (int i = 0; i < PAGES; ++i) numbers[i] = (to + i) % 64;
  CHECK(cuMemcpyHtoD(pages, numbers, sizeof(numbers)));
  void* of_pages[] = {&pages, &none};
  void* of_block[] = {&block[to], &count};
  launch(add_one, of_pages);
  launch(add_one, of_block);
  ++expected[to];
}

int main(int argc, char** argv) {
  static void (*const ways[])(int) = {by_calculator, by_struct, by_scaled, by_pages};
  CUdeviceptr unused;
  CUcontext context;
  CUmodule module;
  if (argc != 2) {
    fprintf(stderr, "usage: number_structs KERNELS\n");
    return 2;
  }
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&add_calculated, module, "add_calculated"));
  CHECK(cuModuleGetFunction(&add_to_lists, module, "add_to_lists"));
  CHECK(cuModuleGetFunction(&add_scaled, module, "add_scaled"));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  for (int i = 0; i < UNUSED; ++i) CHECK(cuMemAlloc(&unused, UNUSED_BYTES));
  CHECK(cuMemAlloc(&pages, PAGES * sizeof(int)));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[i], (unsigned)i, COUNT));
    expected[i] = i;
  }
  for (int round = 0; round < 5 * 4; ++round) ways[round % 4](3 * round % BLOCKS);
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, expected[i])) return 1;
  }
  puts("ok");
  return 0;
}
