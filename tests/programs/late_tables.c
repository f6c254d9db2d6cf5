/* Tables of addresses in pinned memory that is filled by work queued before their copy: when the copy is called, the
 * memory holds no addresses. Over more memory than a small device holds.
 *
 * Usage: late_tables KERNELS host|callback|global|back|after|turns
 * host, callback: a function called by the stream fills it. global: the same, and the copy goes to a module's global.
 * back: a copy from a table on the device fills it. after: the function ends only after the program has launched the
 * kernel, with resident blocks. turns: graph nodes copy one table after another to the same place, each for a kernel.
 * At the end all numbers are compared. Prints "ok" or what failed.
 */
#include <cuda.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 19) /* numbers: 2 MiB */
#define USED 2
#define ROUNDS 4

static CUdeviceptr block[BLOCKS], table, other_table, targets;
static int expected[BLOCKS];
static CUfunction add_to_targets, add_to_table, add_from;
static CUstream stream;
static CUdeviceptr* pinned;
static int first; /* of the blocks that are meant */
static atomic_int may_go_on;

static void launch(CUfunction function, void** parameters) {
  CHECK(cuLaunchKernel(function, COUNT / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

static void use_others(void) {
  for (int i = 0; i < BLOCKS; ++i) {
    int count = COUNT;
    long from = 0;
    void* parameters[] = {&block[i], &from, &count};
    if (i >= first && i < first + USED) continue;
    launch(add_from, parameters);
    ++expected[i];
  }
  CHECK(cuStreamSynchronize(stream));
}

static void CUDA_CB fill(void* unused) {
  (void)unused;
  while (!atomic_load(&may_go_on)) {
  }
  memcpy(pinned, &block[first], USED * sizeof(*block));
}

static void CUDA_CB fill_back(CUstream on, CUresult result, void* unused) {
  (void)on;
  (void)result;
  fill(unused);
}

static void CUDA_CB wait_only(void* unused) {
  (void)unused;
  while (!atomic_load(&may_go_on)) {
  }
}

/* The table itself is resident: nothing has to be evicted for the copy while the stream is blocked. */
static void hold_up(CUhostFn function) {
  CHECK(cuMemsetD8Async(table, 0, USED * sizeof(*pinned), stream));
  CHECK(cuStreamSynchronize(stream));
  memset(pinned, 0, USED * sizeof(*pinned));
  atomic_store(&may_go_on, 0);
  if (function != NULL) CHECK(cuLaunchHostFunc(stream, function, NULL));
}

static void add_by_table(void) {
  int used = USED, count = COUNT;
  void* parameters[] = {&table, &used, &count};
  launch(add_to_table, parameters);
}

static void host(void) {
  hold_up(fill);
  CHECK(cuMemcpyHtoDAsync(table, pinned, USED * sizeof(*pinned), stream));
  atomic_store(&may_go_on, 1);
  add_by_table();
}

static void callback(void) {
  hold_up(NULL);
  CHECK(cuStreamAddCallback(stream, fill_back, NULL, 0));
  CHECK(cuMemcpyAsync(table, (CUdeviceptr)pinned, USED * sizeof(*pinned), stream));
  atomic_store(&may_go_on, 1);
  add_by_table();
}

static void global(void) {
  int used = USED, count = COUNT;
  void* parameters[] = {&used, &count};
  hold_up(fill);
  CHECK(cuMemcpyHtoDAsync(targets, pinned, USED * sizeof(*pinned), stream));
  atomic_store(&may_go_on, 1);
  launch(add_to_targets, parameters);
}

static void back(void) {
  CHECK(cuMemcpyHtoD(other_table, &block[first], USED * sizeof(*block)));
  hold_up(wait_only);
  CHECK(cuMemcpyDtoHAsync(pinned, other_table, USED * sizeof(*pinned), stream));
  CHECK(cuMemcpyHtoDAsync(table, pinned, USED * sizeof(*pinned), stream));
  atomic_store(&may_go_on, 1);
  add_by_table();
}

static void after(void) {
  for (int i = first; i < first + USED; ++i) {
    int count = COUNT;
    long from = 0;
    void* parameters[] = {&block[i], &from, &count};
    launch(add_from, parameters);
    ++expected[i];
  }
  hold_up(fill);
  CHECK(cuMemcpyHtoDAsync(table, pinned, USED * sizeof(*pinned), stream));
  add_by_table();
  atomic_store(&may_go_on, 1);
}

/* Each of the tables names one block. */
static void turns(void) {
  static CUgraphExec exec;
  CUgraph graph;
  int used = 1, count = COUNT;
  void* parameters[] = {&table, &used, &count};
  memcpy(pinned, &block[first], USED * sizeof(*pinned));
  if (exec == NULL) {
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < USED; ++i) {
      CHECK(cuMemcpyHtoDAsync(table, pinned + i, sizeof(*pinned), stream));
      launch(add_to_table, parameters);
    }
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
  }
  CHECK(cuGraphLaunch(exec, stream));
}

static void load(const char* kernels) {
  CUmodule module;
  size_t bytes;
  CHECK(cuModuleLoad(&module, kernels));
  CHECK(cuModuleGetFunction(&add_to_targets, module, "add_to_targets"));
  CHECK(cuModuleGetFunction(&add_to_table, module, "add_to_table"));
  CHECK(cuModuleGetFunction(&add_from, module, "add_from"));
  CHECK(cuModuleGetGlobal(&targets, &bytes, module, "targets"));
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*step)(void);
  } ways[] = {{"host", host}, {"callback", callback}, {"global", global},
              {"back", back}, {"after", after},       {"turns", turns}};
  CUcontext context;
  unsigned way = 0;
  while (argc == 3 && way < sizeof(ways) / sizeof(*ways) && strcmp(argv[2], ways[way].name) != 0) ++way;
  if (argc != 3 || way == sizeof(ways) / sizeof(*ways)) {
    fprintf(stderr, "usage: late_tables KERNELS host|callback|global|back|after|turns\n");
    return 2;
  }
  open_device(&context);
  load(argv[1]);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemHostAlloc((void**)&pinned, sizeof(block), 0));
  CHECK(cuMemAlloc(&table, 4096));
  CHECK(cuMemAlloc(&other_table, 4096));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[i], 0, COUNT));
  }
  CHECK(cuCtxSynchronize()); /* the stream does not wait for the sets */
  for (int round = 0; round < ROUNDS; ++round) {
    first = round * USED;
    use_others();
    ways[way].step();
    CHECK(cuStreamSynchronize(stream));
    for (int i = 0; i < USED; ++i) ++expected[first + i];
  }
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, expected[i])) return 1;
  }
  puts("ok");
  return 0;
}
