// cuStream*Capture*: begin, end and state of captures.
#include "call.hpp"
#include "capture.hpp"
#include "graph_call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

CUstreamCaptureStatus status_of(const Capture& capture) {
  return capture.valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

// Returns pointers to the nodes that the stream's next node depends on.
void tell_tips(Capture& capture, const std::vector<GraphNode*>& tips, const CUgraphNode** nodes,
               const CUgraphEdgeData** edges, size_t* count) {
  capture.told_nodes.clear();
  for (const GraphNode* tip : tips) capture.told_nodes.push_back(handle_of(tip));
  capture.told_edges.assign(tips.size(), CUgraphEdgeData{});
  if (nodes != nullptr) *nodes = capture.told_nodes.data();
  if (edges != nullptr) *edges = capture.told_edges.data();
  if (count != nullptr) *count = tips.size();
}

}  // namespace

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  return on_stream(stream,
                   [&](Machine& machine, StreamId id) { return machine.captures.begin(id, nullptr, {}, mode); });
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph handle, const CUgraphNode* after,
                                     const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  return on_graph(handle, [&](Machine& machine, Graph& graph) -> CUresult {
    std::vector<GraphNode*> nodes;
    SOFTCUDA_TRY(find_nodes(machine, graph, after, edges, count, nodes));
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    return machine.captures.begin(id.value(), &graph, nodes, mode);
  });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* handle) {
  return on_stream(stream, [&](Machine& machine, StreamId id) {
    Graph* graph = nullptr;
    const CUresult result = machine.captures.end(id, graph);
    if (handle != nullptr) *handle = handle_of(graph);
    return result;
  });
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_stream(stream, [&](Machine& machine, StreamId id) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return machine.captures.look_at(id, [&](const Capture& capture, auto&) {
      *status = status_of(capture);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* number, CUgraph* graph,
                                const CUgraphNode** nodes, const CUgraphEdgeData** edges, size_t* count) {
  if (status == nullptr || (edges != nullptr && nodes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return on_stream(stream, [&](Machine& machine, StreamId id) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return machine.captures.look_at(id, [&](Capture& capture, const std::vector<GraphNode*>& tips) {
      *status = status_of(capture);
      if (number != nullptr) *number = capture.id;
      if (graph != nullptr) *graph = handle_of(capture.graph);
      tell_tips(capture, tips, nodes, edges, count);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData* edges,
                                           size_t count, unsigned flags) {
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  return on_stream(stream, [&](Machine& machine, StreamId id) {
    bool captured = false;
    const CUresult result =
        machine.captures.look_at(id, [&](Capture& capture, std::vector<GraphNode*>& tips) -> CUresult {
          captured = true;
          std::vector<GraphNode*> found;
          SOFTCUDA_TRY(find_nodes(machine, *capture.graph, nodes, edges, count, found));
          if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) tips.clear();
          tips.insert(tips.end(), found.begin(), found.end());
          return CUDA_SUCCESS;
        });
    return captured || result != CUDA_SUCCESS ? result : CUDA_ERROR_ILLEGAL_STATE;
  });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  *mode = Captures::exchange_mode(*mode);
  return CUDA_SUCCESS;
}
