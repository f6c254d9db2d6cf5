// Executable graphs contain addresses: do they still work after other memory is mapped there?
#include "gpu.hpp"

namespace first_light {
namespace {

// An executable graph, captured from the work that `queue` puts on a stream.
class Graph {
 public:
  template <class Queue>
  Graph(CUstream stream, Queue queue) {
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    queued_ = queue();
    ended_ = cuStreamEndCapture(stream, &graph_);
    if (ended_ == CUDA_SUCCESS) made_ = cuGraphInstantiate(&exec_, graph_, 0);
  }
  ~Graph() {
    if (exec_ != nullptr) (void)cuGraphExecDestroy(exec_);
    if (graph_ != nullptr) (void)cuGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  CUgraphExec exec() const { return exec_; }
  Json codes() const {
    return {{"queue", static_cast<int>(queued_)},
            {"end_capture", static_cast<int>(ended_)},
            {"instantiate", static_cast<int>(made_)}};
  }

 private:
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUresult queued_ = CUDA_SUCCESS, ended_ = CUDA_SUCCESS, made_ = CUDA_ERROR_UNKNOWN;
};

// A kernel node, a memset node and a copy node, on three pages.
Answer replay_after_swap(const Settings& settings) {
  Gpu gpu;
  Words words(gpu);
  Stream stream;
  Frame device(gpu, Place::kDevice, 3 * kPage), host(gpu, Place::kHost, 3 * kPage);
  Window window(gpu, 3 * kPage);
  PlainBlock source(kPage);
  window.mount(device);
  words.fill(source, kPage, 4, stream);
  stream.wait();
  const CUfunction fill = gpu.plain("fill_words");
  const Graph graph(stream, [&] {
    must(launch(fill, 64, 128, stream, window.at(), std::uint64_t{kPage / 4}, 2U), "fill_words");
    MUST(cuMemsetD32Async(window.at(kPage), 11, kPage / 4, stream));
    return cuMemcpyDtoDAsync(window.at(2 * kPage), source, kPage, stream);
  });
  if (graph.exec() == nullptr) return yes_if(false, graph.codes());
  Json results = graph.codes();
  bool all = true;
  const int rounds = settings.quick ? 2 : 200;
  std::uint64_t set_sum = 0;
  for (int round = 0; round < rounds; ++round) {
    const Frame& frame = round % 2 == 0 ? device : host;
    must(window.unmap(0, 3 * kPage), "cuMemUnmap");
    window.mount(frame);
    MUST(cuMemsetD8(window.at(), 0xee, 3 * kPage));
    finish_default_stream();
    const CUresult launched = cuGraphLaunch(graph.exec(), stream);
    const std::uint64_t sums[] = {words.sum(window.at(), kPage, stream), words.sum(window.at(kPage), kPage, stream),
                                  words.sum(window.at(2 * kPage), kPage, stream)};
    if (round == 0) set_sum = sums[1];
    const bool right = launched == CUDA_SUCCESS && sums[0] == Words::expected(kPage, 2) && sums[1] == set_sum &&
                       sums[2] == Words::expected(kPage, 4);
    if (!right) {
      results["first_wrong"] = {{"round", round}, {"on", text(frame.place())}, {"launch", outcome(launched)}};
      all = false;
      break;
    }
  }
  results["rounds"] = rounds;
  return yes_if(all, results);
}

// A captured copy or memset of a block that is not mapped during the capture, but is at the launch.
Answer capture_while_unmapped(const Settings&) {
  Gpu gpu;
  Words words(gpu);
  Stream stream;
  Frame device(gpu, Place::kDevice, kPage);
  PlainBlock source(kPage);
  words.fill(source, kPage, 6, stream);
  stream.wait();
  PlainBlock threes(kPage);
  MUST(cuMemsetD32(threes, 3, kPage / 4));
  finish_default_stream();
  Json results = Json::object();
  bool all = true;
  for (const bool copies : {true, false}) {
    Window window(gpu, kPage);
    const Graph graph(stream, [&] {
      return copies ? cuMemcpyDtoDAsync(window.at(), source, kPage, stream)
                    : cuMemsetD32Async(window.at(), 3, kPage / 4, stream);
    });
    Json one = graph.codes();
    window.mount(device);
    const CUresult launched = graph.exec() == nullptr ? CUDA_ERROR_INVALID_HANDLE : cuGraphLaunch(graph.exec(), stream);
    const std::uint64_t wanted = words.sum(copies ? source : threes, kPage, stream);
    const bool right = words.sum(window.at(), kPage, stream) == wanted;
    one["launch"] = outcome(launched);
    one["right"] = right;
    results[copies ? "copy" : "set"] = one;
    all = all && launched == CUDA_SUCCESS && right;
  }
  return yes_if(all, results);
}

// Which calls of a capture or of a graph fail for addresses behind which nothing is mapped at the time of the call? The
// graph runs later.
Answer graph_calls_on_unmapped(const Settings&) {
  Gpu gpu;
  Stream stream;
  Frame device(gpu, Place::kDevice, kPage);
  PlainBlock plain(kPage);
  PinnedHost pinned(kPage);
  Window window(gpu, kPage);
  CUcontext context = nullptr;
  MUST(cuCtxGetCurrent(&context));
  const CUfunction fill = gpu.plain("fill_words");
  Json results = Json::object();
  bool all = true;
  const auto note = [&](const char* call, CUresult code) {
    results[call] = name_of(code);
    all = all && code == CUDA_SUCCESS;
  };
  const auto captured = [&](const char* call, auto queue) {
    CUgraph graph = nullptr;
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    note(call, queue());
    (void)cuStreamEndCapture(stream, &graph);
    if (graph != nullptr) (void)cuGraphDestroy(graph);
  };
  captured("captured kernel", [&] { return launch(fill, 1, 128, stream, window.at(), std::uint64_t{4}, 2U); });
  captured("captured cuMemsetD8Async", [&] { return cuMemsetD8Async(window.at(), 1, 64, stream); });
  captured("captured cuMemsetD2D8Async", [&] { return cuMemsetD2D8Async(window.at(), 512, 1, 64, 2, stream); });
  captured("captured cuMemcpyDtoDAsync to it", [&] { return cuMemcpyDtoDAsync(window.at(), plain, 64, stream); });
  captured("captured cuMemcpyDtoDAsync from it", [&] { return cuMemcpyDtoDAsync(plain, window.at(), 64, stream); });
  captured("captured cuMemcpyAsync to it", [&] { return cuMemcpyAsync(window.at(), plain, 64, stream); });
  captured("captured cuMemcpyHtoDAsync", [&] { return cuMemcpyHtoDAsync(window.at(), pinned.as<void>(), 64, stream); });
  captured("captured cuMemcpyDtoHAsync", [&] { return cuMemcpyDtoHAsync(pinned.as<void>(), window.at(), 64, stream); });
  captured("captured cuStreamWriteValue32", [&] { return cuStreamWriteValue32(stream, window.at(), 1, 0); });

  CUgraph graph = nullptr;
  CUgraphNode set = nullptr, copy = nullptr;
  CUgraphExec exec = nullptr;
  CUDA_MEMSET_NODE_PARAMS filling{plain, 0, 1, 1, 64, 1};
  CUDA_MEMCPY3D copying{};
  copying.srcMemoryType = copying.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copying.srcDevice = plain;
  copying.dstDevice = plain + 4096;
  copying.WidthInBytes = 64;
  copying.Height = copying.Depth = 1;
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddMemsetNode(&set, graph, nullptr, 0, &filling, context));
  MUST(cuGraphAddMemcpyNode(&copy, graph, &set, 1, &copying, context));
  MUST(cuGraphInstantiate(&exec, graph, 0));
  filling.dst = window.at();
  copying.dstDevice = window.at();
  CUgraphNode more = nullptr;
  note("cuGraphAddMemsetNode", cuGraphAddMemsetNode(&more, graph, nullptr, 0, &filling, context));
  note("cuGraphAddMemcpyNode", cuGraphAddMemcpyNode(&more, graph, nullptr, 0, &copying, context));
  note("cuGraphMemsetNodeSetParams", cuGraphMemsetNodeSetParams(set, &filling));
  note("cuGraphMemcpyNodeSetParams", cuGraphMemcpyNodeSetParams(copy, &copying));
  note("cuGraphExecMemsetNodeSetParams", cuGraphExecMemsetNodeSetParams(exec, set, &filling, context));
  note("cuGraphExecMemcpyNodeSetParams", cuGraphExecMemcpyNodeSetParams(exec, copy, &copying, context));
  (void)cuGraphDestroy(graph);
  (void)cuGraphExecDestroy(exec);

  // Made while the memory is mapped, instantiated, cloned and updated while it is not.
  window.mount(device);
  CUgraph outer = nullptr, clone = nullptr;
  CUgraphExec early = nullptr, late = nullptr;
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddMemsetNode(&set, graph, nullptr, 0, &filling, context));
  MUST(cuGraphAddMemcpyNode(&copy, graph, &set, 1, &copying, context));
  MUST(cuGraphInstantiate(&early, graph, 0));
  results["mapped, without a context"] = {
      {"cuGraphAddMemsetNode", name_of(cuGraphAddMemsetNode(&more, graph, nullptr, 0, &filling, nullptr))},
      {"cuGraphAddMemcpyNode", name_of(cuGraphAddMemcpyNode(&more, graph, nullptr, 0, &copying, nullptr))}};
  must(window.unmap(0, kPage), "cuMemUnmap");
  CUgraphExecUpdateResultInfo update{};
  MUST(cuGraphCreate(&outer, 0));
  note("cuGraphInstantiate", cuGraphInstantiate(&late, graph, 0));
  note("cuGraphClone", cuGraphClone(&clone, graph));
  note("cuGraphAddChildGraphNode", cuGraphAddChildGraphNode(&more, outer, nullptr, 0, graph));
  note("cuGraphExecUpdate", cuGraphExecUpdate(early, graph, &update));
  note("cuGraphMemcpyNodeGetParams", cuGraphMemcpyNodeGetParams(copy, &copying));
  note("cuGraphUpload", cuGraphUpload(early, stream));

  unsigned yes = 1;
  note("cuPointerSetAttribute, sync memops",
       cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, window.at()));
  return yes_if(all, results);
}

// A page is evicted while a stream captures: are the calls of a swap allowed then?
Answer swap_during_capture(const Settings&) {
  Gpu gpu;
  Json results = Json::object();
  bool all = true;
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_GLOBAL}) {
    Stream stream;
    Frame device(gpu, Place::kDevice, kPage), host(gpu, Place::kHost, kPage);
    Window window(gpu, kPage);
    window.mount(device);
    CUgraph graph = nullptr;
    MUST(cuStreamBeginCapture(stream, mode));
    const CUresult unmapped = window.unmap(0, kPage);
    const CUresult mapped = window.map(host);
    const CUresult opened = window.open(0, kPage);
    const CUresult ended = cuStreamEndCapture(stream, &graph);
    if (graph != nullptr) (void)cuGraphDestroy(graph);
    results[mode == CU_STREAM_CAPTURE_MODE_RELAXED ? "relaxed" : "global"] = {
        {"cuMemUnmap", unmapped}, {"cuMemMap", mapped}, {"cuMemSetAccess", opened}, {"cuStreamEndCapture", ended}};
    all = all && unmapped == CUDA_SUCCESS && mapped == CUDA_SUCCESS && opened == CUDA_SUCCESS && ended == CUDA_SUCCESS;
  }
  return yes_if(all, results);
}

}  // namespace

std::vector<Probe> graph_probes() {
  return {{"graph_after_swap", "does a graph run right after its blocks were swapped", replay_after_swap},
          {"capture_while_unmapped", "can a copy or set of an unmapped block be captured", capture_while_unmapped},
          {"graph_calls_on_unmapped", "do graphs accept addresses with nothing mapped behind them",
           graph_calls_on_unmapped},
          {"swap_during_capture", "may mappings change while a stream captures", swap_during_capture}};
}

}  // namespace first_light
