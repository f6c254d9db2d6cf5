/* Every way of launching a kernel, over more memory than a small device holds.
 *
 * Usage: launches KERNELS. Blocks of numbers are added to in turn, in a different way each time, so that each launch
 * finds its block evicted; at the end all numbers are compared. Prints "ok" or what failed.
 */
#define CUDA_ENABLE_DEPRECATED
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 19)

struct lists {
  int count;
  CUdeviceptr targets[3], source;
};

static CUdeviceptr block[BLOCKS];
static int expected[BLOCKS];
static CUfunction add_one, add_to_lists;
static CUkernel add_one_kernel;
static CUstream stream;
static const unsigned grid = (COUNT + 255) / 256;
static unsigned resident; /* blocks of 256 threads that the device runs at the same time */

static void by_list(int to) {
  int count = COUNT;
  void* parameters[] = {&block[to], &count};
  CHECK(cuLaunchKernel(add_one, grid, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
  ++expected[to];
}

static void by_buffer(int to) {
  struct {
    CUdeviceptr target;
    int count;
  } packed = {block[to], COUNT};
  size_t bytes = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  CHECK(cuLaunchKernel(add_one, grid, 1, 1, 256, 1, 1, 0, NULL, NULL, extra));
  ++expected[to];
}

static void by_config(int to) {
  int count = COUNT;
  void* parameters[] = {&block[to], &count};
  CUlaunchConfig config;
  memset(&config, 0, sizeof(config));
  config.gridDimX = grid;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 256;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  CHECK(cuLaunchKernelEx(&config, add_one, parameters, NULL));
  ++expected[to];
}

/* A cooperative launch has only as many blocks as run at the same time, so it covers a piece. */
static void by_cooperation(int to) {
  for (unsigned first = 0; first < grid; first += resident) {
    const unsigned blocks = grid - first < resident ? grid - first : resident;
    CUdeviceptr piece = block[to] + (CUdeviceptr)first * 256 * sizeof(int);
    int count = (int)blocks * 256;
    void* parameters[] = {&piece, &count};
    CHECK(cuLaunchCooperativeKernel(add_one, blocks, 1, 1, 256, 1, 1, 0, stream, parameters));
  }
  ++expected[to];
}

static void by_kernel_handle(int to) {
  int count = COUNT;
  void* parameters[] = {&block[to], &count};
  CHECK(cuLaunchKernel((CUfunction)add_one_kernel, grid, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
  ++expected[to];
}

/* Addresses in a struct, one of them in the middle of a block. */
static void by_struct(int to) {
  const int a = (to + 1) % BLOCKS, b = (to + 2) % BLOCKS, source = (to + 3) % BLOCKS;
  struct lists lists = {COUNT, {block[to], block[a], block[b]}, block[source]};
  void* parameters[] = {&lists};
  CHECK(cuLaunchKernel(add_to_lists, grid, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
  expected[to] += expected[source];
  expected[a] += expected[source];
  expected[b] += expected[source];
}

static void by_interior(int to) {
  int half = COUNT / 2;
  CUdeviceptr middle = block[to] + COUNT / 2 * sizeof(int);
  void* upper[] = {&middle, &half};
  void* lower[] = {&block[to], &half};
  CHECK(cuLaunchKernel(add_one, grid / 2, 1, 1, 256, 1, 1, 0, stream, upper, NULL));
  CHECK(cuLaunchKernel(add_one, grid / 2, 1, 1, 256, 1, 1, 0, stream, lower, NULL));
  ++expected[to];
}

/* As before CUDA 4; the address in two halves. */
static void by_single_parameters(int to) {
  CHECK(cuParamSetSize(add_one, 12));
  CHECK(cuParamSeti(add_one, 0, (unsigned)block[to]));
  CHECK(cuParamSeti(add_one, 4, (unsigned)(block[to] >> 32)));
  CHECK(cuParamSeti(add_one, 8, COUNT));
  CHECK(cuFuncSetBlockShape(add_one, 256, 1, 1));
  CHECK(cuLaunchGrid(add_one, (int)grid, 1));
  CHECK(cuParamSetv(add_one, 0, &block[to], sizeof(block[to])));
  CHECK(cuLaunchGridAsync(add_one, (int)grid, 1, stream));
  expected[to] += 2;
}

static void (*const ways[])(int) = {by_list,          by_buffer, by_config,   by_cooperation,
                                    by_kernel_handle, by_struct, by_interior, by_single_parameters};
#define WAYS (int)(sizeof(ways) / sizeof(ways[0]))

static void load(const char* file) {
  CUmodule module;
  CUlibrary library;
  CHECK(cuModuleLoad(&module, file));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  CHECK(cuModuleGetFunction(&add_to_lists, module, "add_to_lists"));
  CHECK(cuLibraryLoadFromFile(&library, file, NULL, NULL, 0, NULL, NULL, 0));
  CHECK(cuLibraryGetKernel(&add_one_kernel, library, "add_one"));
}

static void count_resident_blocks(void) {
  int each, processors;
  CHECK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, add_one, 256, 0));
  resident = (unsigned)(each * processors);
}

static int compare(int* host) {
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemcpyDtoH(host, block[i], COUNT * sizeof(int)));
    for (int n = 0; n < COUNT; ++n) {
      if (host[n] == expected[i]) continue;
      fprintf(stderr, "block %d, number %d: %d, not %d\n", i, n, host[n], expected[i]);
      return 1;
    }
  }
  puts("ok");
  return 0;
}

int main(int argc, char** argv) {
  CUcontext context;
  if (argc != 2) {
    fprintf(stderr, "usage: launches KERNELS\n");
    return 2;
  }
  open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  load(argv[1]);
  count_resident_blocks();
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    expected[i] = i;
    CHECK(cuMemsetD32(block[i], (unsigned)i, COUNT));
  }
  for (int round = 0; round < 3 * BLOCKS; ++round) ways[round % WAYS](round % BLOCKS);
  CHECK(cuStreamSynchronize(stream));
  int* const words = malloc(COUNT * sizeof(int));
  const int result = compare(words);
  free(words);
  return result;
}
