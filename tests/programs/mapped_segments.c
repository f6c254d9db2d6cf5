/* Reservations with many handles, by the calls of the allocators that make them, in their order.
 *
 *   mapped_segments KERNELS torch|graph|whole|scratch|sparse|pauses|moves BYTES
 *
 * torch    segments that grow: 9/8 of the device reserved for each, all handles of a growth made first, then mapped,
 * then one access call over all of them. Tensors lie across handles. Freed ones are unmapped in the middle, and mapped
 *          again at the end. If a handle is refused, what was made for the growth is released.
 * graph    a graph over all tensors of such a segment, launched several times
 * whole    one kernel that uses all of a segment, piece by piece filled
 * scratch  the stack of temporary buffers of ggml: it grows by handles of many sizes, which are released as soon as
 * they are mapped, and is unmapped at the end, in one call sparse   a cache of pages: pages of a large reservation are
 * mapped and unmapped where they are needed, with gaps pauses   handles side by side that are unmapped and released
 * while others work, mapped again with new contents or with those of a copy in the host moves    handles that are
 * unmapped from one segment and mapped into another, with their bytes
 *
 * BYTES is the memory that the program uses in all. Prints "ok" if every byte is right.
 *
 * Thread safety: one thread.
 */
#include "mapped.h"

enum { HANDLE = 10, TENSORS = 12, ROUNDS = 3 };

struct segment {
  CUdeviceptr at;
  size_t reserved, pages; /* of each handle */
  size_t count;           /* of handles that there were */
  CUmemGenericAllocationHandle* handles;
};

static size_t handle_bytes(const struct segment* in) { return in->pages * PAGE; }

static struct segment new_segment(size_t reserved, size_t pages) {
  struct segment made = {0, 0, pages, 0, NULL};
  made.reserved = reserved / (pages * PAGE) * (pages * PAGE);
  made.at = reserve(made.reserved);
  made.handles = calloc(made.reserved / (pages * PAGE), sizeof(*made.handles));
  return made;
}

/* Handles [first, end); false if one is refused. */
static int map_handles(struct segment* in, size_t first, size_t end) {
  for (size_t i = first; i < end; ++i) {
    const CUresult made = create(&in->handles[i], handle_bytes(in));
    if (made == CUDA_ERROR_OUT_OF_MEMORY) {
      while (i-- > first) CHECK(cuMemRelease(in->handles[i]));
      return 0;
    }
    CHECK(made);
  }
  for (size_t i = first; i < end; ++i) {
    CHECK(cuMemMap(in->at + i * handle_bytes(in), handle_bytes(in), 0, in->handles[i], 0));
  }
  CHECK(give_access(in->at + first * handle_bytes(in), (end - first) * handle_bytes(in)));
  if (end > in->count) in->count = end;
  return 1;
}

static void unmap_handles(struct segment* in, size_t first, size_t end) {
  CHECK(cuStreamSynchronize(NULL));
  for (size_t i = first; i < end; ++i) {
    CHECK(cuMemUnmap(in->at + i * handle_bytes(in), handle_bytes(in)));
    CHECK(cuMemRelease(in->handles[i]));
    in->handles[i] = 0;
  }
}

static void end_segment(struct segment* of) {
  for (size_t i = 0; i < of->count; ++i) {
    if (of->handles[i] != 0) unmap_handles(of, i, i + 1);
  }
  CHECK(cuMemAddressFree(of->at, of->reserved));
  free(of->handles);
}

/* Tensors one behind the other in the last segment, of which `used` bytes are taken. */
struct pool {
  struct segment segments[TENSORS];
  size_t count, used, reserved;
};

static CUdeviceptr new_tensor(struct pool* from, size_t bytes) {
  struct segment* last = from->count != 0 ? &from->segments[from->count - 1] : NULL;
  if (last == NULL || last->reserved - from->used < bytes) {
    last = &from->segments[from->count++];
    *last = new_segment(from->reserved, HANDLE);
    from->used = 0;
  }
  const size_t each = handle_bytes(last), end = (from->used + bytes + each - 1) / each;
  if (end > last->count && !map_handles(last, last->count, end)) CHECK(CUDA_ERROR_OUT_OF_MEMORY);
  from->used += bytes;
  return last->at + from->used - bytes;
}

/* Tensors that are no multiple of a handle, so that some begin in one handle and end in another. */
static int torch(size_t total, size_t bytes) {
  shared_as = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  struct pool pool = {.count = 0, .used = 0, .reserved = total / 8 * 9};
  const size_t tensor = bytes / TENSORS / PAGE * PAGE;
  CUdeviceptr at[TENSORS];
  int right = 1;
  for (int i = 0; i < TENSORS; ++i) {
    at[i] = new_tensor(&pool, tensor);
    fill(at[i], tensor, 100 * i);
  }
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < TENSORS; ++i) add_one(at[i], tensor);
    for (int i = TENSORS; i-- > 0;) add_one(at[i], tensor);
  }
  for (int i = 0; i < TENSORS; ++i) right = holds(at[i], tensor, i, 100 * i + 2 * ROUNDS) && right;
  /* The tensors at the start are freed, and what they filled is unmapped; another one is made. */
  struct segment* const first = &pool.segments[0];
  const size_t freed = 4 * tensor / handle_bytes(first);
  unmap_handles(first, 0, freed);
  const CUdeviceptr later = new_tensor(&pool, tensor);
  fill(later, tensor, 7);
  add_one(later, tensor);
  right = holds(later, tensor, TENSORS, 8) && right;
  if (!map_handles(first, 0, freed)) CHECK(CUDA_ERROR_OUT_OF_MEMORY); /* the addresses serve again */
  fill(at[0], tensor, 3);
  add_one(at[0], tensor);
  right = holds(at[0], tensor, 0, 4) && right;
  for (int i = 4; i < TENSORS; ++i) right = holds(at[i], tensor, i, 100 * i + 2 * ROUNDS) && right;
  while (pool.count != 0) end_segment(&pool.segments[--pool.count]);
  return right;
}

static int whole(size_t bytes) {
  struct segment all = new_segment(2 * bytes, HANDLE);
  const size_t each = handle_bytes(&all), count = bytes / each;
  int right = 1;
  if (!map_handles(&all, 0, count)) CHECK(CUDA_ERROR_OUT_OF_MEMORY);
  for (size_t i = 0; i < count; ++i) fill(all.at + i * each, each, (int)i);
  for (int round = 0; round < ROUNDS; ++round) add_one(all.at, count * each);
  CHECK(cuCtxSynchronize());
  for (size_t i = 0; i < count; ++i) right = holds(all.at + i * each, each, (int)i, (int)i + ROUNDS) && right;
  end_segment(&all);
  return right;
}

static int scratch(size_t bytes) {
  const CUdeviceptr base = reserve((size_t)1 << 30);
  size_t mapped = 0, used = 0, sizes[TENSORS];
  CUdeviceptr at[TENSORS];
  int right = 1;
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < TENSORS; ++i) {
      sizes[i] = bytes / (TENSORS + 1) / 256 * 256 + (size_t)((i + round) % 3) * 102400 * sizeof(int);
      if (used + sizes[i] > mapped) {
        struct mapping more = {base + mapped, (used + sizes[i] - mapped + PAGE - 1) / PAGE * PAGE, 0};
        CHECK(create(&more.handle, more.bytes));
        CHECK(cuMemMap(more.at, more.bytes, 0, more.handle, 0));
        CHECK(cuMemRelease(more.handle));
        CHECK(give_access(more.at, more.bytes));
        mapped += more.bytes;
      }
      at[i] = base + used;
      used += sizes[i];
      fill(at[i], sizes[i], 100 * i + round);
      if (i != 0) add_one(at[i - 1], sizes[i - 1]);
    }
    add_one(at[TENSORS - 1], sizes[TENSORS - 1]);
    for (int i = TENSORS; i-- > 0;) {
      right = holds(at[i], sizes[i], i, 100 * i + round + 1) && right;
      used -= sizes[i];
    }
  }
  CHECK(cuCtxSynchronize());
  CHECK(cuMemUnmap(base, mapped));
  CHECK(cuMemAddressFree(base, (size_t)1 << 30));
  return right;
}

static int graph(size_t total, size_t bytes) {
  struct pool pool = {.count = 0, .used = 0, .reserved = total / 8 * 9};
  const size_t tensor = bytes / TENSORS / PAGE * PAGE;
  CUdeviceptr at[TENSORS];
  CUgraph captured;
  CUgraphExec exec;
  CUstream stream;
  CUfunction function;
  int right = 1, count = (int)(tensor / sizeof(int));
  for (int i = 0; i < TENSORS; ++i) {
    at[i] = new_tensor(&pool, tensor);
    fill(at[i], tensor, 100 * i);
  }
  CHECK(cuCtxSynchronize());
  CHECK(cuModuleGetFunction(&function, module, "add_one"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < TENSORS; ++i) {
    void* parameters[] = {&at[i], &count};
    CHECK(cuLaunchKernel(function, ((unsigned)count + 255) / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
  }
  CHECK(cuStreamEndCapture(stream, &captured));
  CHECK(cuGraphInstantiate(&exec, captured, 0));
  for (int round = 0; round < ROUNDS; ++round) CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < TENSORS; ++i) right = holds(at[i], tensor, i, 100 * i + ROUNDS) && right;
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(captured));
  CHECK(cuStreamDestroy(stream));
  while (pool.count != 0) end_segment(&pool.segments[--pool.count]);
  return right;
}

/* The layers of a model have a cache each. Pages come and go by requests; a kernel of a layer may use all of them. */
static int sparse(size_t bytes) {
  enum { LAYERS = 8, SLOTS = 24 };
  struct segment layers[LAYERS];
  const size_t pages = bytes / LAYERS / PAGE;
  CUfunction function;
  int right = 1;
  CHECK(cuModuleGetFunction(&function, module, "add_one"));
  for (int layer = 0; layer < LAYERS; ++layer) {
    layers[layer] = new_segment(SLOTS * pages * PAGE, 1);
    for (size_t i = 0; i < pages; ++i) {
      const size_t slot = i * SLOTS;
      if (!map_handles(&layers[layer], slot, slot + 1)) CHECK(CUDA_ERROR_OUT_OF_MEMORY);
      fill(layers[layer].at + slot * PAGE, PAGE, layer);
    }
  }
  for (int round = 0; round < ROUNDS; ++round) {
    for (int layer = 0; layer < LAYERS; ++layer) {
      struct segment* const in = &layers[layer];
      const size_t kept = 0, moved = SLOTS * (size_t)(round + 1), next = moved + 1;
      for (size_t slot = kept; slot < in->count; ++slot) {
        if (in->handles[slot] != 0) add_one(in->at + slot * PAGE, PAGE);
      }
      if (moved >= in->count) continue;
      unmap_handles(in, moved, moved + 1);
      if (!map_handles(in, next, next + 1)) CHECK(CUDA_ERROR_OUT_OF_MEMORY);
      fill(in->at + next * PAGE, PAGE, layer + round + 1);
    }
  }
  for (int layer = 0; layer < LAYERS; ++layer) {
    struct segment* const in = &layers[layer];
    for (size_t slot = 0; slot < in->count; ++slot) {
      if (in->handles[slot] != 0) right = holds(in->at + slot * PAGE, PAGE, (int)slot, layer + ROUNDS) && right;
    }
    end_segment(in);
  }
  return right;
}

static int pauses(size_t bytes) {
  enum { HALVES = 2 };
  struct segment halves[HALVES];
  const size_t count = bytes / HALVES / (2 * PAGE);
  void* saved;
  int right = 1;
  CHECK(cuMemAllocHost(&saved, count * 2 * PAGE));
  for (int half = 0; half < HALVES; ++half) {
    halves[half] = new_segment(2 * count * 2 * PAGE, 2);
    if (!map_handles(&halves[half], 0, count)) CHECK(CUDA_ERROR_OUT_OF_MEMORY);
    fill(halves[half].at, count * 2 * PAGE, 10 * half);
  }
  for (int round = 0; round < ROUNDS; ++round) {
    for (int half = 0; half < HALVES; ++half) add_one(halves[half].at, count * 2 * PAGE);
    CHECK(cuMemcpyDtoH(saved, halves[0].at, count * 2 * PAGE)); /* across all its handles */
    unmap_handles(&halves[0], 0, count);
    add_one(halves[1].at, count * 2 * PAGE);
    if (!map_handles(&halves[0], 0, count)) CHECK(CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cuMemcpyHtoD(halves[0].at, saved, count * 2 * PAGE));
  }
  right = holds(halves[0].at, count * 2 * PAGE, 0, ROUNDS) && right;
  right = holds(halves[1].at, count * 2 * PAGE, 1, 10 + 2 * ROUNDS) && right;
  for (int half = 0; half < HALVES; ++half) end_segment(&halves[half]);
  CHECK(cuMemFreeHost(saved));
  return right;
}

static int moves(size_t bytes) {
  const size_t pages = 4, count = bytes / (pages * PAGE);
  struct segment from = new_segment(2 * bytes, pages), to = new_segment(2 * bytes, pages);
  int right = 1;
  if (!map_handles(&from, 0, count)) CHECK(CUDA_ERROR_OUT_OF_MEMORY);
  for (size_t i = 0; i < count; ++i) fill(from.at + i * pages * PAGE, pages * PAGE, 100 * (int)i);
  CHECK(cuCtxSynchronize());
  CHECK(cuMemUnmap(from.at, count * pages * PAGE)); /* one call for all of them */
  for (size_t i = 0; i < count; ++i) {              /* in the other order */
    const size_t place = count - 1 - i;
    to.handles[place] = from.handles[i];
    from.handles[i] = 0;
    CHECK(cuMemMap(to.at + place * pages * PAGE, pages * PAGE, 0, to.handles[place], 0));
  }
  to.count = count;
  CHECK(give_access(to.at, count * pages * PAGE));
  for (size_t i = 0; i < count; ++i) add_one(to.at + i * pages * PAGE, pages * PAGE);
  for (size_t i = 0; i < count; ++i) {
    right = holds(to.at + i * pages * PAGE, pages * PAGE, (int)i, 100 * (int)(count - 1 - i) + 1) && right;
  }
  end_segment(&from);
  end_segment(&to);
  return right;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const char* const how = argv[2];
  const size_t bytes = strtoull(argv[3], NULL, 10);
  start(argv[1]);
  size_t total;
  CHECK(cuDeviceTotalMem(&total, device));
  if (strcmp(how, "torch") == 0) return end(torch(total, bytes));
  if (strcmp(how, "graph") == 0) return end(graph(total, bytes));
  if (strcmp(how, "whole") == 0) return end(whole(bytes));
  if (strcmp(how, "scratch") == 0) return end(scratch(bytes));
  if (strcmp(how, "sparse") == 0) return end(sparse(bytes));
  if (strcmp(how, "pauses") == 0) return end(pauses(bytes));
  if (strcmp(how, "moves") == 0) return end(moves(bytes));
  return 2;
}
