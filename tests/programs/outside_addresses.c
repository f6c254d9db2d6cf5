/* Addresses that a program stores outside the heap, in a module's global that it rewrites for each launch, over more
 * memory than a small device holds.
 *
 * Usage: outside_addresses KERNELS rotate|device|batch|graph|cleared|full|section|one
 * rotate: each step names two of the blocks. device: the same, by a copy from a table on the device. batch: by a batch
 * of copies. graph: by a graph node with a source that the program changes between launches. cleared: a set removes the
 * addresses. full: blocks are named one after another until a copy is refused; the rest of the device still serves
 * launches. section, one: conversely, kernels get addresses before their blocks: the base of an array of which the
 * block is a section, the base of an array with first index 1. At the end all numbers are compared. Prints "ok" or what
 * failed.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 19) /* numbers: 2 MiB */
#define PAIR 2
#define ROUNDS 3

static CUdeviceptr block[BLOCKS], table, targets;
static int expected[BLOCKS];
static CUfunction add_to_targets, add_from, add_from_one;
static CUstream stream;
static CUdeviceptr* pinned;

static void launch(CUfunction function, void** parameters) {
  CHECK(cuLaunchKernel(function, COUNT / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

static void add_to_named(int used) {
  int count = COUNT;
  void* parameters[] = {&used, &count};
  launch(add_to_targets, parameters);
}

static void add_to_block(int which) {
  int count = COUNT;
  long first = 0;
  void* parameters[] = {&block[which], &first, &count};
  launch(add_from, parameters);
  ++expected[which];
}

static void expect_pair(int first) {
  for (int i = 0; i < PAIR; ++i) ++expected[first + i];
}

static void rotate(int first) {
  CHECK(cuMemcpyHtoDAsync(targets, &block[first], PAIR * sizeof(*block), stream));
  add_to_named(PAIR);
}

static void device(int first) {
  CHECK(cuMemcpyHtoD(table, &block[first], PAIR * sizeof(*block)));
  CHECK(cuMemcpyDtoDAsync(targets, table, PAIR * sizeof(*block), stream));
  add_to_named(PAIR);
  CHECK(cuStreamSynchronize(stream));
}

static void batch(int first) {
  CUdeviceptr to[PAIR], from[PAIR];
  size_t sizes[PAIR], failed = 0, index = 0;
  CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
  for (int i = 0; i < PAIR; ++i) {
    to[i] = targets + (size_t)i * sizeof(*block);
    from[i] = (CUdeviceptr)&block[first + i];
    sizes[i] = sizeof(*block);
  }
  (void)failed;
#if CUDA_VERSION >= 13000
  CHECK(cuMemcpyBatchAsync(to, from, sizes, PAIR, &attributes, &index, 1, stream));
#else
  CHECK(cuMemcpyBatchAsync(to, from, sizes, PAIR, &attributes, &index, 1, &failed, stream));
#endif
  add_to_named(PAIR);
}

static CUgraphExec exec;

static void graph(int first) {
  memcpy(pinned, &block[first], PAIR * sizeof(*block));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
}

static void capture_graph(void) {
  CUgraph captured;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cuMemcpyHtoDAsync(targets, pinned, PAIR * sizeof(*block), stream));
  add_to_named(PAIR);
  CHECK(cuStreamEndCapture(stream, &captured));
  CHECK(cuGraphInstantiate(&exec, captured, 0));
}

static void run_steps(void (*step)(int)) {
  for (int round = 0; round < ROUNDS; ++round) {
    for (int first = 0; first < BLOCKS; first += PAIR) {
      step(first);
      expect_pair(first);
      add_to_block((first + 5) % BLOCKS);
    }
  }
}

static void cleared(void) {
  for (int first = 0; first < BLOCKS; first += PAIR) {
    rotate(first);
    expect_pair(first);
    CHECK(cuMemsetD8Async(targets, 0, sizeof(block), stream));
  }
  for (int i = 0; i < BLOCKS; ++i) add_to_block(i);
}

static void full(void) {
  int named = 0;
  CUresult result = CUDA_SUCCESS;
  for (; named < BLOCKS && result == CUDA_SUCCESS; ++named) {
    result = cuMemcpyHtoD(targets + (size_t)named * sizeof(*block), &block[named], sizeof(*block));
  }
  if (result != CUDA_ERROR_OUT_OF_MEMORY) {
    fprintf(stderr, "%d blocks were named, and the last copy said %d\n", named, result);
    exit(1);
  }
  add_to_named(--named);
  for (int i = 0; i < named; ++i) ++expected[i];
  for (int i = 0; i < BLOCKS; ++i) add_to_block(i);
}

/* Block i contains the elements from (i + 1) * COUNT on of an array. */
static void section(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < BLOCKS; ++i) {
      int count = COUNT;
      long first = (long)COUNT * (i + 1);
      CUdeviceptr base = block[i] - (CUdeviceptr)first * sizeof(int);
      void* parameters[] = {&base, &first, &count};
      launch(add_from, parameters);
      ++expected[i];
    }
  }
}

/* No block lies before it: otherwise the base would be an address in that block. */
static void one(void) {
  for (int i = 1; i < BLOCKS; i += 2) {
    CHECK(cuMemFree(block[i - 1]));
    block[i - 1] = 0;
  }
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 1; i < BLOCKS; i += 2) {
      int count = COUNT;
      CUdeviceptr base = block[i] - sizeof(int);
      void* parameters[] = {&base, &count};
      launch(add_from_one, parameters);
      ++expected[i];
      for (int other = 1; other < BLOCKS; other += 2) {
        if (other != i) add_to_block(other);
      }
    }
  }
}

static void load(const char* kernels) {
  CUmodule module;
  size_t bytes;
  CHECK(cuModuleLoad(&module, kernels));
  CHECK(cuModuleGetFunction(&add_to_targets, module, "add_to_targets"));
  CHECK(cuModuleGetFunction(&add_from, module, "add_from"));
  CHECK(cuModuleGetFunction(&add_from_one, module, "add_from_one"));
  CHECK(cuModuleGetGlobal(&targets, &bytes, module, "targets"));
}

static void in_steps(void (*step)(int)) {
  if (step == graph) capture_graph();
  run_steps(step);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*step)(int);
    void (*all)(void);
  } ways[] = {{"rotate", rotate, NULL},   {"device", device, NULL}, {"batch", batch, NULL},     {"graph", graph, NULL},
              {"cleared", NULL, cleared}, {"full", NULL, full},     {"section", NULL, section}, {"one", NULL, one}};
  CUcontext context;
  unsigned way = 0;
  while (argc == 3 && way < sizeof(ways) / sizeof(*ways) && strcmp(argv[2], ways[way].name) != 0) ++way;
  if (argc != 3 || way == sizeof(ways) / sizeof(*ways)) {
    fprintf(stderr, "usage: outside_addresses KERNELS rotate|device|batch|graph|cleared|full|section|one\n");
    return 2;
  }
  open_device(&context);
  load(argv[1]);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemHostAlloc((void**)&pinned, sizeof(block), 0));
  CHECK(cuMemAlloc(&table, 4096));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[i], 0, COUNT));
  }
  CHECK(cuCtxSynchronize()); /* the stream does not wait for the sets */
  if (ways[way].step != NULL) {
    in_steps(ways[way].step);
  } else {
    ways[way].all();
  }
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < BLOCKS; ++i) {
    if (block[i] != 0 && !block_holds(block[i], COUNT, i, expected[i])) return 1;
  }
  puts("ok");
  return 0;
}
