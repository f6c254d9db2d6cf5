// Captures graphs and replays them as PyTorch does, with memory from libtessera_torch.so.
//
// Usage: torch_graphs LIBRARY KERNELS. Blocks are freed while a graph is captured, like tensors that only the graph
// needs; later blocks must not be placed there, since every replay writes them. Two graphs share a pool. Prints "ok",
// or the first failure.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/types.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "check.h"

namespace {

constexpr int kCount = 1 << 19;
constexpr ssize_t kBytes = kCount * sizeof(int);
constexpr int kOthers = 8, kRounds = 4;

using PoolId = std::pair<unsigned long long, unsigned long long>;
using Filter = std::function<bool(CUstream)>;

void* (*take)(ssize_t, int, CUstream);
void (*give)(void*, ssize_t, int, CUstream);
void (*record_stream)(void*, CUstream);
void (*empty_cache)();
void (*begin_pool)(int, PoolId, Filter);
void (*end_pool)(int, PoolId);
void (*release_pool)(int, PoolId);

CUfunction add_one;
CUstream captured, side, work;

template <class Function>
void load(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function != nullptr) return;
  std::fprintf(stderr, "no %s\n", name);
  std::exit(1);
}

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

CUdeviceptr address_of(const void* block) { return reinterpret_cast<CUdeviceptr>(block); }

void add(void* block, CUstream stream) {
  CUdeviceptr target = address_of(block);
  int count = kCount;
  void* parameters[] = {&target, &count};
  CHECK(cuLaunchKernel(add_one, kCount / 256, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
}

void copy(void* to, const void* from, CUstream stream) {
  CHECK(cuMemcpyDtoDAsync(address_of(to), address_of(from), kBytes, stream));
}

struct Graph {
  explicit Graph(PoolId its_pool) : pool(its_pool) {}

  PoolId pool;
  cuuint64_t capture = 0;
  CUgraphExec exec = nullptr;
  void* out = nullptr;
  std::vector<void*> freed;  // during its capture
};

bool is_of(const Graph& graph, CUstream stream) {
  CUstreamCaptureStatus status{};
  cuuint64_t id = 0;
  CHECK(cuStreamGetCaptureInfo(stream, &status, &id, nullptr, nullptr, nullptr, nullptr));
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id == graph.capture;
}

void free_in(Graph& graph, void* block) {
  give(block, kBytes, 0, captured);
  graph.freed.push_back(block);
}

// Computes the numbers of `in` plus three.
void capture(Graph& graph, const void* in) {
  begin_pool(0, graph.pool, [&graph](CUstream stream) { return is_of(graph, stream); });
  CHECK(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUstreamCaptureStatus status{};
  CHECK(cuStreamGetCaptureInfo(captured, &status, &graph.capture, nullptr, nullptr, nullptr, nullptr));
  void* const first = take(kBytes, 0, captured);
  copy(first, in, captured);
  add(first, captured);
  void* const second = take(kBytes, 0, captured);
  copy(second, first, captured);
  free_in(graph, first);
  void* const third = take(kBytes, 0, captured);
  must(third == first, "a block freed in a capture is not reused in it");
  copy(third, second, captured);
  add(third, captured);
  // A block that another stream of the capture uses too is not reused in it.
  CUevent forked, joined;
  CHECK(cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventRecord(forked, captured));
  CHECK(cuStreamWaitEvent(side, forked, 0));
  record_stream(third, side);
  add(third, side);
  free_in(graph, third);
  graph.out = take(kBytes, 0, captured);
  must(graph.out != third, "a block that another stream uses was reused");
  CHECK(cuEventRecord(joined, side));
  CHECK(cuStreamWaitEvent(captured, joined, 0));
  copy(graph.out, third, captured);
  free_in(graph, second);
  CUgraph made = nullptr;
  CHECK(cuStreamEndCapture(captured, &made));
  end_pool(0, graph.pool);
  CHECK(cuGraphInstantiateWithFlags(&graph.exec, made, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  CHECK(cuGraphDestroy(made));
  CHECK(cuEventDestroy(forked));
  CHECK(cuEventDestroy(joined));
}

void expect(const void* block, int number, const char* what) {
  std::vector<int> numbers(kCount);
  CHECK(cuMemcpyDtoH(numbers.data(), address_of(block), kBytes));
  for (const int found : numbers) {
    if (found == number) continue;
    std::fprintf(stderr, "%s: %d, not %d\n", what, found, number);
    std::exit(1);
  }
}

// As PyTorch ends a graph: first its pool, then the executable, perhaps while it is running.
void reset(Graph& graph) {
  give(graph.out, kBytes, 0, work);
  release_pool(0, graph.pool);
  CHECK(cuGraphExecDestroy(graph.exec));
}

void run() {
  void* const in = take(kBytes, 0, work);
  CHECK(cuMemsetD32Async(address_of(in), 0, kCount, work));
  Graph graphs[] = {Graph({1, 0}), Graph({1, 0}), Graph({0, 7})};
  for (Graph& graph : graphs) capture(graph, in);
  std::vector<void*> others;
  for (int i = 0; i < kOthers; ++i) {
    others.push_back(take(kBytes, 0, captured));
    CHECK(cuMemsetD32Async(address_of(others.back()), 100, kCount, work));
    for (const Graph& graph : graphs) {
      const bool taken = std::find(graph.freed.begin(), graph.freed.end(), others.back()) != graph.freed.end();
      must(!taken, "a block of a graph was allocated again");
    }
  }
  for (int round = 0; round < kRounds; ++round) {
    CHECK(cuMemsetD32Async(address_of(in), static_cast<unsigned>(round), kCount, work));
    for (const Graph& graph : graphs) {
      for (void* other : others) add(other, work);
      CHECK(cuGraphLaunch(graph.exec, work));
    }
    CHECK(cuStreamSynchronize(work));
    for (const Graph& graph : graphs) expect(graph.out, round + 3, "what a graph computed");
  }
  for (void* other : others) expect(other, 100 + 3 * kRounds, "a block beside the graphs");
  for (Graph& graph : graphs) CHECK(cuGraphLaunch(graph.exec, work));
  for (Graph& graph : graphs) reset(graph);
  empty_cache();
  for (void* other : others) give(other, kBytes, 0, captured);
  give(in, kBytes, 0, work);
}

}  // namespace

int main(int argc, char** argv) {
  CUcontext context;
  CUmodule module;
  if (argc != 3) {
    std::fprintf(stderr, "usage: torch_graphs LIBRARY KERNELS\n");
    return 2;
  }
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  must(library != nullptr, "the library cannot be loaded");
  load(library, "tessera_torch_malloc", take);
  load(library, "tessera_torch_free", give);
  load(library, "tessera_torch_record_stream", record_stream);
  load(library, "tessera_torch_reset", empty_cache);
  load(library, "tessera_torch_begin_pool", begin_pool);
  load(library, "tessera_torch_end_pool", end_pool);
  load(library, "tessera_torch_release_pool", release_pool);
  open_device(&context);
  CHECK(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&work, CU_STREAM_NON_BLOCKING));
  CHECK(cuModuleLoad(&module, argv[2]));
  CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
  run();
  std::puts("ok");
  return 0;
}
