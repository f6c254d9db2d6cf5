#include "capture.hpp"

#include <atomic>

#include "outcome.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

constinit std::atomic<bool> program_captures{false};

bool all_on_device(const tessera_block_info& info) {
  return info.host_bytes == 0 && info.file_bytes == 0;
}

}  // namespace

bool capturing(CUstream stream) {
  if (!program_captures.load(std::memory_order_relaxed)) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult asked = call_true(&TrueDriver::cuStreamIsCapturing, stream, &status);
  return asked == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUresult expose_to_graph(tessera_allocator* allocator, std::span<const std::uint64_t> words) {
  for (const std::uint64_t word : words) {
    tessera_block_info info{};
    info.size = sizeof(info);
    if (tessera_query(allocator, word, &info) != TESSERA_OK) continue;
    if (!all_on_device(info)) {
      say("captured into a graph while not in device memory: use the block once before capturing");
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    const tessera_result result = tessera_expose(allocator, word, "cuStreamBeginCapture");
    if (result != TESSERA_OK) return cuda_result_said(result, "cuStreamBeginCapture");
  }
  return CUDA_SUCCESS;
}

}  // namespace tessera::preload

using namespace tessera::preload;

TESSERA_HOOK_PTSZ(cuStreamBeginCapture, (CUstream given), {
  program_captures.store(true);
  (void)stream;
  return call_true(True, given);
})

TESSERA_HOOK_PTSZ(cuStreamBeginCapture_v2, (CUstream given, CUstreamCaptureMode mode), {
  program_captures.store(true);
  (void)stream;
  return call_true(True, given, mode);
})

TESSERA_HOOK_PTSZ(cuStreamBeginCaptureToGraph,
                  (CUstream given, CUgraph graph, const CUgraphNode* dependencies,
                   const CUgraphEdgeData* edges, std::size_t count, CUstreamCaptureMode mode), {
  program_captures.store(true);
  (void)stream;
  return call_true(True, given, graph, dependencies, edges, count, mode);
})
