/* Reservations in which a program keeps some pages mapped, and changes which, by the calls of the programs that do so.
 *
 *   mapped_pages KERNELS weights|cache|graph BYTES
 *
 * weights  ComfyUI's dynamic weights: a reservation for each model, no larger than the device; its pages are created,
 *          mapped and opened one by one before the layer that needs them, and filled from host memory. Where the device
 *          has no room, the last pages of the other model are unmapped and released after all work, and filled again
 *          when they are needed. At the end a buffer that grows by pages is unmapped in one call
 *          (Comfy-Org/comfy-aimdo src/model-vbar.c, src/vrambuf.c)
 * cache    a key-value cache in a reservation for each layer (microsoft/vattention): pages of requests are mapped where
 *          their slots are, handles of those that have ended serve others, and kernels get the first address of the
 *          layer and the numbers of the pages, also while nothing is mapped at that address
 *
 * graph    such kernels in a graph, of all layers, while nothing is mapped at their first addresses
 *
 * BYTES is the memory that the program uses in all. Prints "ok" if every byte is right.
 *
 * Thread safety: one thread.
 */
#include "mapped.h"

/* ---- weights ------------------------------------------------------------------------------------
 */

enum { MODELS = 2, STEPS = 3, WEIGHT = 4 }; /* pages of a weight; ComfyUI takes 32 MiB */

struct model {
  CUdeviceptr at;
  size_t count;
  struct mapping* weights; /* `at` is 0 while the weight is not there */
  int* values;
};

static void drop_weight(struct model* of, size_t i) {
  CHECK(cuMemUnmap(of->weights[i].at, WEIGHT * PAGE));
  CHECK(cuMemRelease(of->weights[i].handle));
  of->weights[i].at = 0;
}

/* The last weight that is there; 0 if there is none. */
static int drop_last(struct model* of) {
  for (size_t i = of->count; i-- > 0;) {
    if (of->weights[i].at == 0) continue;
    CHECK(cuCtxSynchronize());
    drop_weight(of, i);
    return 1;
  }
  return 0;
}

static int bring_weight(struct model* of, struct model* other, size_t i, void* host) {
  struct mapping* const weight = &of->weights[i];
  if (weight->at != 0) return 0;
  CUresult made;
  while ((made = create(&weight->handle, WEIGHT * PAGE)) == CUDA_ERROR_OUT_OF_MEMORY && drop_last(other)) {
  }
  CHECK(made);
  weight->at = of->at + i * WEIGHT * PAGE;
  weight->bytes = WEIGHT * PAGE;
  map(weight);
  CHECK(cuMemcpyHtoD(weight->at, host, WEIGHT * PAGE));
  return 1;
}

static int weights(size_t bytes) {
  struct model models[MODELS];
  const size_t count = bytes / MODELS / (WEIGHT * PAGE);
  struct mapping buffer[4];
  CUdeviceptr grown;
  int* host;
  int right = 1;
  size_t copies = 0;
  CHECK(cuMemAllocHost((void**)&host, WEIGHT * PAGE));
  for (int m = 0; m < MODELS; ++m) {
    models[m] = (struct model){reserve(count * WEIGHT * PAGE), count, calloc(count, sizeof(struct mapping)),
                               calloc(count, sizeof(int))};
  }
  grown = reserve((size_t)256 << 20);
  for (int step = 0; step < STEPS; ++step) {
    for (int m = 0; m < MODELS; ++m) {
      for (size_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < WEIGHT * PAGE / sizeof(int); ++k) host[k] = 100 * m + (int)i;
        if (bring_weight(&models[m], &models[1 - m], i, host)) {
          models[m].values[i] = 100 * m + (int)i;
          ++copies;
        }
        add_one(models[m].weights[i].at, WEIGHT * PAGE); /* a layer only reads it; this shows that it is there */
        right = holds(models[m].weights[i].at, WEIGHT * PAGE, (int)i, ++models[m].values[i]) && right;
      }
    }
    for (int i = 0; i < 4 && step == 1; ++i) {
      buffer[i] = (struct mapping){grown + (size_t)i * 2 * PAGE, 2 * PAGE, 0};
      CUresult made;
      while ((made = create(&buffer[i].handle, 2 * PAGE)) == CUDA_ERROR_OUT_OF_MEMORY && drop_last(&models[0])) {
      }
      CHECK(made);
      map(&buffer[i]);
      fill(grown, (size_t)(i + 1) * 2 * PAGE, i);
      right = holds(grown, (size_t)(i + 1) * 2 * PAGE, i, i) && right;
    }
  }
  CHECK(cuCtxSynchronize());
  CHECK(cuMemUnmap(grown, 4 * 2 * PAGE));
  for (int i = 0; i < 4; ++i) CHECK(cuMemRelease(buffer[i].handle));
  CHECK(cuMemAddressFree(grown, (size_t)256 << 20));
  for (int m = 0; m < MODELS; ++m) {
    for (size_t i = 0; i < count; ++i) {
      if (models[m].weights[i].at != 0) drop_weight(&models[m], i);
    }
    free(models[m].weights);
    free(models[m].values);
    CHECK(cuMemAddressFree(models[m].at, count * WEIGHT * PAGE));
  }
  CHECK(cuMemFreeHost(host));
  printf("%zu copies of %zu weights\n", copies, MODELS * count);
  return right;
}

/* ---- cache --------------------------------------------------------------------------------------
 */

enum { LAYERS = 4, SLOTS = 20, ROUNDS = 6, MOST = 64 };

static int cache(size_t bytes) {
  const size_t per_layer = bytes / LAYERS / PAGE; /* requests at a time, of one page each */
  CUmemGenericAllocationHandle handles[LAYERS][MOST];
  CUdeviceptr at[LAYERS], numbers;
  int slot[MOST], value[MOST], right = 1;
  int count = (int)(PAGE / sizeof(int));
  const int requests = (int)per_layer;
  if (per_layer > MOST) return 0;
  const size_t slots = SLOTS + per_layer;
  CHECK(cuMemAlloc(&numbers, sizeof(slot)));
  for (int layer = 0; layer < LAYERS; ++layer) {
    at[layer] = reserve(slots * PAGE);
    for (int r = 0; r < requests; ++r) CHECK(create(&handles[layer][r], PAGE));
  }
  for (int r = 0; r < requests; ++r) {
    slot[r] = r; /* the first is at the first address */
    value[r] = 0;
    for (int layer = 0; layer < LAYERS; ++layer) {
      struct mapping page = {at[layer] + (size_t)slot[r] * PAGE, PAGE, handles[layer][r]};
      map(&page);
      fill(page.at, PAGE, 0);
    }
  }
  for (int round = 0; round < ROUNDS; ++round) {
    int pages = requests;
    CHECK(cuMemcpyHtoD(numbers, slot, (size_t)requests * sizeof(int)));
    for (int layer = 0; layer < LAYERS; ++layer) {
      void* parameters[] = {&at[layer], &numbers, &pages, &count};
      CHECK(launch_threads(module, "add_to_pages", count, NULL, parameters));
    }
    CHECK(cuCtxSynchronize());
    for (int r = 0; r < requests; ++r) ++value[r];
    const int ended = round % requests; /* its pages serve the next request, elsewhere */
    for (int layer = 0; layer < LAYERS; ++layer) {
      CHECK(cuMemUnmap(at[layer] + (size_t)slot[ended] * PAGE, PAGE));
      struct mapping page = {at[layer] + (size_t)(requests + round) * PAGE, PAGE, handles[layer][ended]};
      map(&page);
      fill(page.at, PAGE, 100 * round);
    }
    slot[ended] = requests + round;
    value[ended] = 100 * round;
  }
  for (int layer = 0; layer < LAYERS; ++layer) {
    for (int r = 0; r < requests; ++r) {
      right = holds(at[layer] + (size_t)slot[r] * PAGE, PAGE, layer, value[r]) && right;
    }
    CHECK(cuMemUnmap(at[layer], slots * PAGE));
    for (int r = 0; r < requests; ++r) CHECK(cuMemRelease(handles[layer][r]));
    CHECK(cuMemAddressFree(at[layer], slots * PAGE));
  }
  CHECK(cuMemFree(numbers));
  return right;
}

static int graph(size_t bytes) {
  const size_t per_layer = bytes / LAYERS / PAGE;
  CUmemGenericAllocationHandle handles[LAYERS][MOST];
  CUdeviceptr at[LAYERS], numbers;
  CUgraph captured;
  CUgraphExec exec;
  CUstream stream;
  int slot[MOST], right = 1, pages = (int)per_layer, count = (int)(PAGE / sizeof(int));
  if (per_layer > MOST) return 0;
  const size_t slots = 2 * per_layer + 1;
  for (int r = 0; r < pages; ++r) slot[r] = 2 * r + 1;
  CHECK(cuMemAlloc(&numbers, sizeof(slot)));
  CHECK(cuMemcpyHtoD(numbers, slot, per_layer * sizeof(int)));
  for (int layer = 0; layer < LAYERS; ++layer) {
    at[layer] = reserve(slots * PAGE);
    for (int r = 0; r < pages; ++r) {
      CHECK(create(&handles[layer][r], PAGE));
      struct mapping page = {at[layer] + (size_t)slot[r] * PAGE, PAGE, handles[layer][r]};
      map(&page);
      fill(page.at, PAGE, layer);
    }
  }
  CHECK(cuCtxSynchronize()); /* the graph's stream does not wait for the fills */
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int layer = 0; layer < LAYERS; ++layer) {
    void* parameters[] = {&at[layer], &numbers, &pages, &count};
    CHECK(launch_threads(module, "add_to_pages", count, stream, parameters));
  }
  CHECK(cuStreamEndCapture(stream, &captured));
  CHECK(cuGraphInstantiate(&exec, captured, 0));
  for (int round = 0; round < ROUNDS; ++round) CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(captured));
  CHECK(cuStreamDestroy(stream));
  for (int layer = 0; layer < LAYERS; ++layer) {
    for (int r = 0; r < pages; ++r) {
      right = holds(at[layer] + (size_t)slot[r] * PAGE, PAGE, layer, layer + ROUNDS) && right;
    }
    CHECK(cuMemUnmap(at[layer], slots * PAGE));
    for (int r = 0; r < pages; ++r) CHECK(cuMemRelease(handles[layer][r]));
    CHECK(cuMemAddressFree(at[layer], slots * PAGE));
  }
  CHECK(cuMemFree(numbers));
  return right;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const size_t bytes = strtoull(argv[3], NULL, 10);
  start(argv[1]);
  if (strcmp(argv[2], "weights") == 0) return end(weights(bytes));
  if (strcmp(argv[2], "cache") == 0) return end(cache(bytes));
  if (strcmp(argv[2], "graph") == 0) return end(graph(bytes));
  return 2;
}
