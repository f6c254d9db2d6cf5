/* Memory that a program maps itself, as frameworks do.
 *
 *   mapped_memory KERNELS engine|saver|arena|moves|graph|segments|pages BYTES
 *
 * engine    the sleep mode of an inference engine: reserve, create, map for each block; copy to the host, unmap and
 *           release; create and map at the same addresses again, and copy back
 * saver     a saver of training memory: create, reserve, map for each block; unmap and release without a copy
 * arena     a compiler's arena: three quarters of the device by one exportable handle, cut by offsets
 * moves     handles that are unmapped and mapped elsewhere, with their bytes
 * graph     a graph over blocks that sleep and wake between its launches
 * segments  a segment that grows: reserve more than the device, map handles of two sizes one after another, use ranges
 *           across them, unmap and release some, and map new ones in their place
 * pages     the same in a reservation that is smaller than the device
 *
 * BYTES is the memory that the program uses in all. Prints "ok" if every byte is right.
 *
 * Thread safety: one thread.
 */
#include "mapped.h"

enum { BLOCKS = 6, ROUNDS = 3 };

static struct mapping blocks[BLOCKS];
static size_t each;

/* ---- one handle for each reservation -----------------------------------------------------------
 */

static void make_block(struct mapping* block, int reserve_first) {
  block->bytes = each;
  if (reserve_first && block->at == 0) block->at = reserve(each);
  CHECK(create(&block->handle, each));
  if (block->at == 0) block->at = reserve(each);
  map(block);
}

static void end_blocks(void) {
  for (int i = 0; i < BLOCKS; ++i) {
    unmap(&blocks[i]);
    CHECK(cuMemAddressFree(blocks[i].at, each));
  }
}

static void use_all(void) {
  for (int i = 0; i < BLOCKS; ++i) add_one(blocks[i].at, each);
}

static int all_hold(int more) {
  int right = 1;
  for (int i = 0; i < BLOCKS; ++i) right = holds(blocks[i].at, each, i, 100 * i + more) && right;
  return right;
}

/* Another program part uses the memory meanwhile. */
static int use_device_otherwise(void) {
  CUdeviceptr other;
  const size_t bytes = BLOCKS / 2 * each;
  CHECK(cuMemAlloc(&other, bytes));
  fill(other, bytes, 7);
  const int right = holds(other, bytes, -1, 7);
  CHECK(cuMemFree(other));
  return right;
}

static int engine(void) {
  void* saved[BLOCKS];
  int right = 1;
  for (int i = 0; i < BLOCKS; ++i) {
    make_block(&blocks[i], 1);
    fill(blocks[i].at, each, 100 * i);
    CHECK(cuMemAllocHost(&saved[i], each));
  }
  for (int round = 0; round < ROUNDS; ++round) {
    use_all();
    use_all();
    right = all_hold(2 * round + 2) && right;
    for (int i = 0; i < BLOCKS; ++i) {
      CHECK(cuMemcpyDtoH(saved[i], blocks[i].at, each));
      unmap(&blocks[i]);
    }
    right = use_device_otherwise() && right;
    for (int i = 0; i < BLOCKS; ++i) {
      const CUdeviceptr before = blocks[i].at;
      make_block(&blocks[i], 1);
      CHECK(cuMemcpyHtoD(blocks[i].at, saved[i], each));
      right = blocks[i].at == before && right;
    }
  }
  right = all_hold(2 * ROUNDS) && right;
  end_blocks();
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemFreeHost(saved[i]));
  return right;
}

static int saver(void) {
  int right = 1;
  for (int i = 0; i < BLOCKS; ++i) make_block(&blocks[i], 0);
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < BLOCKS; ++i) fill(blocks[i].at, each, 100 * i + round);
    use_all();
    right = all_hold(round + 1) && right;
    for (int i = 0; i < BLOCKS; ++i) unmap(&blocks[i]);
    right = use_device_otherwise() && right;
    for (int i = BLOCKS; i-- > 0;) make_block(&blocks[i], 0);
  }
  end_blocks();
  return right;
}

static int arena(size_t bytes) {
  struct mapping all = {0, 0, 0};
  size_t free_bytes, total;
  CUdeviceptr others[BLOCKS];
  CUmemAllocationProp properties;
  int right = 1;
  shared_as = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CHECK(cuMemGetInfo(&free_bytes, &total));
  all.bytes = free_bytes / 4 * 3 / PAGE * PAGE;
  CHECK(create(&all.handle, all.bytes));
  CHECK(cuMemGetAllocationPropertiesFromHandle(&properties, all.handle));
  right = properties.requestedHandleTypes == shared_as && properties.location.id == device;
  all.at = reserve(all.bytes);
  map(&all);
  const size_t part = all.bytes / BLOCKS / PAGE * PAGE, rest = bytes / BLOCKS;
  for (int i = 0; i < BLOCKS; ++i) {
    fill(all.at + (size_t)i * part, part, 100 * i);
    CHECK(cuMemAlloc(&others[i], rest));
    fill(others[i], rest, 1000 * i);
  }
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < BLOCKS; ++i) add_one(all.at + (size_t)i * part, part);
    for (int i = 0; i < BLOCKS; ++i) add_one(others[i], rest);
  }
  for (int i = 0; i < BLOCKS; ++i) {
    right = holds(all.at + (size_t)i * part, part, i, 100 * i + ROUNDS) && right;
    right = holds(others[i], rest, i, 1000 * i + ROUNDS) && right;
    CHECK(cuMemFree(others[i]));
  }
  unmap(&all);
  CHECK(cuMemAddressFree(all.at, all.bytes));
  return right;
}

static int moves(void) {
  int right = 1;
  CUdeviceptr at[BLOCKS];
  for (int i = 0; i < BLOCKS; ++i) {
    make_block(&blocks[i], 1);
    fill(blocks[i].at, each, 100 * i);
    at[i] = blocks[i].at;
  }
  for (int round = 0; round < ROUNDS; ++round) {
    use_all();
    CHECK(cuCtxSynchronize());
    for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemUnmap(blocks[i].at, each));
    right = use_device_otherwise() && right;
    for (int i = 0; i < BLOCKS; ++i) { /* each at the next one's address */
      blocks[i].at = at[(i + round + 1) % BLOCKS];
      map(&blocks[i]);
    }
  }
  right = all_hold(ROUNDS) && right;
  end_blocks();
  return right;
}

static int graph(void) {
  CUgraph captured;
  CUgraphExec exec;
  CUstream stream;
  CUfunction function;
  int right = 1, count = (int)(each / sizeof(int));
  void* saved;
  CHECK(cuMemAllocHost(&saved, each));
  for (int i = 0; i < BLOCKS; ++i) {
    make_block(&blocks[i], 1);
    fill(blocks[i].at, each, 100 * i);
  }
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuModuleGetFunction(&function, module, "add_one"));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < 2; ++i) {
    void* parameters[] = {&blocks[i].at, &count};
    CHECK(cuLaunchKernel(function, ((unsigned)count + 255) / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
  }
  CHECK(cuStreamEndCapture(stream, &captured));
  CHECK(cuGraphInstantiate(&exec, captured, 0));
  CHECK(cuCtxSynchronize()); /* the graph's stream does not wait for the fills */
  for (int round = 0; round < ROUNDS; ++round) {
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    for (int i = 2; i < BLOCKS; ++i) add_one(blocks[i].at, each);
    CHECK(cuMemcpyDtoH(saved, blocks[0].at, each));
    unmap(&blocks[0]);
    right = use_device_otherwise() && right;
    make_block(&blocks[0], 1);
    CHECK(cuMemcpyHtoD(blocks[0].at, saved, each));
  }
  right = all_hold(ROUNDS) && right;
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(captured));
  CHECK(cuStreamDestroy(stream));
  CHECK(cuMemFreeHost(saved));
  end_blocks();
  return right;
}

/* ---- many handles in one reservation -----------------------------------------------------------
 */

enum { SEGMENTS = 8 };

static void map_run(struct mapping* parts, int first, int count) {
  for (int i = first; i < first + count; ++i) CHECK(create(&parts[i].handle, parts[i].bytes));
  for (int i = first; i < first + count; ++i) CHECK(cuMemMap(parts[i].at, parts[i].bytes, 0, parts[i].handle, 0));
  CHECK(give_access(parts[first].at, parts[first + count - 1].at + parts[first + count - 1].bytes - parts[first].at));
}

static int segments(size_t reserved, size_t bytes) {
  struct mapping parts[SEGMENTS];
  const size_t small = 2 * PAGE, large = (bytes - SEGMENTS / 2 * small) / (SEGMENTS / 2) / PAGE * PAGE;
  const CUdeviceptr base = reserve(reserved);
  CUdeviceptr at = base;
  unsigned type = 0;
  int right = 1;
  for (int i = 0; i < SEGMENTS; ++i) {
    parts[i].bytes = i < SEGMENTS / 2 ? small : large;
    parts[i].at = at;
    at += parts[i].bytes;
  }
  const size_t all = at - base;
  map_run(parts, 0, SEGMENTS / 2);
  fill(base, SEGMENTS / 2 * small, 5); /* across handles */
  map_run(parts, SEGMENTS / 2, SEGMENTS / 2);
  fill(parts[SEGMENTS / 2].at, SEGMENTS / 2 * large, 5);
  for (int round = 0; round < ROUNDS; ++round) {
    add_one(base, all);
    right = holds(base, all, round, 6 + round) && right;
    CHECK(cuCtxSynchronize());
    for (int i = 2; i < 5; ++i) unmap(&parts[i]);
    right = holds(base, 2 * small, round, 6 + round) && right;
    map_run(parts, 2, 3);
    fill(parts[2].at, parts[5].at - parts[2].at, 6 + round);
  }
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base + small));
  right = type == CU_MEMORYTYPE_DEVICE && holds(base, all, ROUNDS, 5 + ROUNDS) && right;
  for (int i = 0; i < SEGMENTS; ++i) unmap(&parts[i]);
  CHECK(cuMemAddressFree(base, reserved));
  return right;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const char* const how = argv[2];
  const size_t bytes = strtoull(argv[3], NULL, 10);
  size_t free_bytes, total;
  start(argv[1]);
  CHECK(cuMemGetInfo(&free_bytes, &total));
  each = bytes / BLOCKS / PAGE * PAGE;
  if (strcmp(how, "engine") == 0) return end(engine());
  if (strcmp(how, "saver") == 0) return end(saver());
  if (strcmp(how, "arena") == 0) return end(arena(bytes));
  if (strcmp(how, "moves") == 0) return end(moves());
  if (strcmp(how, "graph") == 0) return end(graph());
  if (strcmp(how, "segments") == 0) return end(segments(total / 8 * 9 / PAGE * PAGE, bytes));
  if (strcmp(how, "pages") == 0) return end(segments(2 * bytes / PAGE * PAGE, bytes));
  return 2;
}
