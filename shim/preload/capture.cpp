#include "capture.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "held_blocks.hpp"
#include "managed_use.hpp"
#include "outcome.hpp"
#include "true_driver.hpp"

namespace tessera::preload {

namespace detail {
bool is_captured(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult asked = call_true(&TrueDriver::cuStreamIsCapturing, stream, &status);
  return asked == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}
}  // namespace detail

namespace {

constinit std::atomic<std::size_t> captures{0};
constinit std::mutex origins_lock;

// Streams on which a capture was begun and not ended. Never destroyed: exit handlers may capture.
std::vector<CUstream>& origins() {
  static auto& streams = *new std::vector<CUstream>;
  return streams;
}

// Records a last fence behind the stream's work. A per-thread default stream has a fence after each use.
void fence_for_good(CUstream stream) {
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (allocator == nullptr || stream == CU_STREAM_PER_THREAD || entry.nested()) return;
  const tessera_result result = tessera_retire_stream(allocator, stream_of(stream));
  if (result != TESSERA_OK) (void)cuda_result_said(result, "cuStreamBeginCapture");
}

// The legacy stream must not be touched either while a capturing stream waits for it.
void before_capture(CUstream stream) {
  fence_for_good(stream);
  fence_for_good(CU_STREAM_LEGACY);
}

void capture_begun(CUstream stream) {
  const std::lock_guard<std::mutex> lock(origins_lock);
  origins().push_back(stream);
  captures.store(origins().size());
  detail::launch_facts.captures.store(true);
}

template <class Call>
CUresult begin(CUstream stream, Call call) {
  before_capture(stream);
  const CUresult result = call();
  if (result == CUDA_SUCCESS) capture_begun(stream);
  return result;
}

template <class Function>
CUresult end(CUstream stream, Function TrueDriver::*function, CUstream given, CUgraph* graph) {
  const bool before = detail::is_captured(stream);
  const CUresult result = call_true(function, given, graph);
  if (before && !detail::is_captured(stream)) capture_dropped(stream);
  return result;
}

}  // namespace

bool any_capture() { return captures.load(std::memory_order_relaxed) != 0; }

void capture_dropped(CUstream stream) {
  {
    const std::lock_guard<std::mutex> lock(origins_lock);
    const auto origin = std::find(origins().begin(), origins().end(), stream);
    if (origin == origins().end()) return;
    origins().erase(origin);
    captures.store(origins().size());
  }
  held_blocks().free_due();
}

}  // namespace tessera::preload

using namespace tessera::preload;

TESSERA_HOOK_PTSZ(cuStreamBeginCapture, (CUstream given),
                  { return begin(stream, [&] { return call_true(True, given); }); })

TESSERA_HOOK_PTSZ(cuStreamBeginCapture_v2, (CUstream given, CUstreamCaptureMode mode),
                  { return begin(stream, [&] { return call_true(True, given, mode); }); })

TESSERA_HOOK_PTSZ(cuStreamBeginCaptureToGraph,
                  (CUstream given, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                   std::size_t count, CUstreamCaptureMode mode),
                  {
                    return begin(stream,
                                 [&] { return call_true(True, given, graph, dependencies, edges, count, mode); });
                  })

// The nodes of the graph are read again when it is instantiated, or when an executable is updated with it.
TESSERA_HOOK_PTSZ(cuStreamBeginRecaptureToGraph,
                  (CUstream given, CUstreamCaptureMode mode, CUgraph graph, CUgraphRecaptureCallback differs,
                   void* data),
                  { return begin(stream, [&] { return call_true(True, given, mode, graph, differs, data); }); })

// No CUDA event signals the end of such work, so blocks that it uses could never be evicted.
TESSERA_HOOK_PTSZ(cuStreamBeginCaptureToCig, (CUstream given, CUstreamCigCaptureParams* params), {
  (void)stream;
  if (running() == nullptr) return call_true(True, given, params);
  say("cuStreamBeginCaptureToCig: work for a graphics queue cannot use memory managed by Tessera");
  return CUDA_ERROR_NOT_SUPPORTED;
})

TESSERA_HOOK_PTSZ(cuStreamEndCapture, (CUstream given, CUgraph* graph), { return end(stream, True, given, graph); })

// A stream joins a capture by waiting for an event recorded in it.
TESSERA_HOOK_PTSZ(cuStreamWaitEvent, (CUstream given, CUevent event, unsigned flags), {
  if (any_capture() && !capturing(stream)) fence_for_good(stream);
  return call_true(True, given, event, flags);
})
