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
          {"swap_during_capture", "may mappings change while a stream captures", swap_during_capture}};
}

}  // namespace first_light
