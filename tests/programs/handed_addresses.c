/* Kernels that find addresses where an earlier kernel or a graph stored them, over more memory than a small device
 * holds.
 *
 * Usage: handed_addresses KERNELS grouped|range|joined|graph|running
 * grouped: a kernel writes the address of a layer's weights into a table, the next kernel reads the weights, layer by
 *   layer, as in grouped matrix products.
 * range: a kernel makes a table from one address and a step; other blocks are used; a kernel gets only the table, as in
 * batched linear algebra routines. joined: two tables are copied from the host, a kernel joins them, other blocks are
 * used, a kernel gets the joined table. graph: a graph node copies the table from pinned memory; other blocks are used
 * between its launches. running: a kernel that got only the table is running when its blocks are evicted, as another
 * thread needs room. At the end all numbers are compared. Prints "ok" or what failed.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define BYTES (4 << 20)
#define OTHERS 8 /* blocks of BYTES: more than a small device holds */
#define MEANT 4  /* blocks or parts of one whose addresses are handed on */
#define COUNT (BYTES / MEANT / (int)sizeof(int))
#define LAYERS 12
#define ROUNDS 8

static CUcontext context;
static CUmodule module;
static CUdeviceptr other[OTHERS], meant[MEANT], table;
static CUstream stream;

static void launch(const char* name, int threads, CUstream on, void** parameters) {
  CUfunction function;
  const unsigned size = threads < 256 ? (unsigned)threads : 256;
  CHECK(cuModuleGetFunction(&function, module, name));
  CHECK(cuLaunchKernel(function, ((unsigned)threads + size - 1) / size, 1, 1, size, 1, 1, 0, on, parameters, NULL));
}

static void add_to(CUdeviceptr block, int count, CUstream on) {
  int value = 1;
  void* parameters[] = {&block, &value, &count};
  launch("add_to", count, on, parameters);
}

static void use_others(CUstream on) {
  for (int i = 0; i < OTHERS; ++i) add_to(other[i], BYTES / (int)sizeof(int), on);
}

static void allocate(CUdeviceptr* block, size_t bytes) {
  CHECK(cuMemAlloc(block, bytes));
  CHECK(cuMemsetD32(*block, 0, bytes / 4));
  CHECK(cuCtxSynchronize()); /* other streams do not wait for the set */
}

/* One block in MEANT parts, or MEANT blocks. */
static void allocate_meant(int as_one) {
  if (as_one) allocate(&meant[0], BYTES);
  for (int i = as_one; i < MEANT; ++i) {
    if (as_one) {
      meant[i] = meant[0] + (size_t)i * COUNT * sizeof(int);
    } else {
      allocate(&meant[i], COUNT * sizeof(int));
    }
  }
}

static void add_to_all(CUstream on) {
  int blocks = MEANT, count = COUNT, value = 1;
  void* parameters[] = {&table, &blocks, &count, &value};
  launch("add_to_all", COUNT, on, parameters);
}

static void make_range(void) {
  int count = MEANT;
  long long first = (long long)meant[0], step = COUNT * sizeof(int);
  void* parameters[] = {&table, &first, &step, &count};
  launch("address_range", MEANT, stream, parameters);
}

static int meant_hold(int expected) {
  for (int i = 0; i < MEANT; ++i) {
    if (!block_holds(meant[i], COUNT, i, expected)) return 0;
  }
  return 1;
}

static int grouped(void) {
  CUdeviceptr weights[LAYERS], result;
  float sum, right = (float)ROUNDS * LAYERS * (BYTES / 4 / 64);
  int count = BYTES / 4;
  allocate(&result, 4096);
  for (int i = 0; i < LAYERS; ++i) {
    CHECK(cuMemAlloc(&weights[i], BYTES));
    CHECK(cuMemsetD32(weights[i], 0x3f800000, BYTES / 4)); /* 1.0 */
  }
  CHECK(cuCtxSynchronize());
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < LAYERS; ++i) {
      void* prepared[] = {&table, &weights[i]};
      void* multiplied[] = {&table, &result, &count};
      launch("prepare", 1, stream, prepared);
      launch("product", 64, stream, multiplied);
    }
  }
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemcpyDtoH(&sum, result, sizeof(sum)));
  if (sum != right) fprintf(stderr, "the sum is %g, not %g\n", sum, right);
  return sum == right;
}

static int range(void) {
  allocate_meant(1);
  for (int round = 0; round < ROUNDS; ++round) {
    make_range();
    use_others(stream);
    add_to_all(stream);
    CHECK(cuStreamSynchronize(stream));
  }
  return meant_hold(ROUNDS);
}

static int join_tables(void) {
  CUdeviceptr a, b;
  int half = MEANT / 2;
  void* parameters[] = {&table, &a, &half, &b, &half};
  allocate_meant(0);
  allocate(&a, 4096);
  allocate(&b, 4096);
  for (int round = 0; round < ROUNDS; ++round) {
    CHECK(cuMemcpyHtoD(a, meant, (size_t)half * sizeof(*meant)));
    CHECK(cuMemcpyHtoD(b, meant + half, (size_t)half * sizeof(*meant)));
    launch("joined", MEANT, stream, parameters);
    use_others(stream);
    add_to_all(stream);
    CHECK(cuStreamSynchronize(stream));
  }
  return meant_hold(ROUNDS);
}

static int graph(void) {
  CUgraph captured;
  CUgraphExec exec;
  CUdeviceptr* pinned;
  allocate_meant(0);
  CHECK(cuMemHostAlloc((void**)&pinned, sizeof(meant), 0));
  memcpy(pinned, meant, sizeof(meant));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CHECK(cuMemcpyHtoDAsync(table, pinned, sizeof(meant), stream));
  add_to_all(stream);
  CHECK(cuStreamEndCapture(stream, &captured));
  CHECK(cuGraphInstantiate(&exec, captured, 0));
  for (int round = 0; round < ROUNDS; ++round) {
    use_others(stream);
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
  }
  return meant_hold(ROUNDS);
}

struct signal {
  volatile int running, go_on;
};

static void* need_room(void* unused) {
  CUstream own;
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < OTHERS; ++i) add_to(other[i], BYTES / 4, own);
  CHECK(cuStreamSynchronize(own));
  return unused;
}

static int running(void) {
  int blocks = MEANT, count = COUNT, value = 1;
  struct signal* signal;
  CUstream waiting;
  pthread_t thread;
  allocate_meant(1);
  use_others(stream);
  make_range();
  add_to_all(stream); /* the blocks are in device memory; their last announced use is over */
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemHostAlloc((void**)&signal, sizeof(*signal), CU_MEMHOSTALLOC_DEVICEMAP));
  memset((void*)signal, 0, sizeof(*signal));
  CHECK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
  void* parameters[] = {&signal, &table, &blocks, &count, &value};
  launch("add_to_all_when_told", 1, waiting, parameters);
  while (!signal->running) {
  }
  if (pthread_create(&thread, NULL, need_room, NULL) != 0) return 0;
  signal->go_on = 1;
  CHECK(cuStreamSynchronize(waiting));
  pthread_join(thread, NULL);
  return meant_hold(2);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    int (*run)(void);
  } ways[] = {{"grouped", grouped}, {"range", range}, {"joined", join_tables}, {"graph", graph}, {"running", running}};
  for (unsigned i = 0; argc == 3 && i < sizeof(ways) / sizeof(*ways); ++i) {
    if (strcmp(argv[2], ways[i].name) != 0) continue;
    open_device(&context);
    CHECK(cuModuleLoad(&module, argv[1]));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    allocate(&table, 4096);
    for (int k = 0; k < OTHERS; ++k) allocate(&other[k], BYTES);
    if (!ways[i].run()) return 1;
    puts("ok");
    return 0;
  }
  fprintf(stderr, "usage: handed_addresses KERNELS grouped|range|joined|graph|running\n");
  return 2;
}
