// cuMemcpy2D* and cuMemcpy3D*: copies of rectangles and boxes, row by row, also from device to device.
#include "boxes.hpp"
#include "call.hpp"
#include "capture.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

CUresult queue(const CUDA_MEMCPY3D& box, CUstream stream) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    SOFTCUDA_TRY(check_box(box));
    const auto captured = capture_box(machine, box, id.value());
    return captured ? *captured : copy_box(machine, box, id.value());
  });
}

// The synchronous call returns when the bytes have arrived.
CUresult finish(const CUDA_MEMCPY3D& box) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto id = machine.streams.resolve(nullptr);
    if (!id.is_ok()) return to_result(id.status());
    SOFTCUDA_TRY(machine.captures.refuse_wait(id.value()));
    SOFTCUDA_TRY(copy_box(machine, box, id.value()));
    return to_result(machine.driver.synchronize(id.value()));
  });
}

// Calls body(machine) if both contexts are live.
template <class Body>
CUresult between(const CUDA_MEMCPY3D_PEER* copy, Body&& body) {
  return with_machine([&](Machine& machine) -> CUresult {
    if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (CUcontext handle : {copy->dstContext, copy->srcContext}) {
      if (machine.contexts.find(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    }
    return body(machine);
  });
}

}  // namespace

// Ordered with all work of both contexts, like cuMemcpyPeer.
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  const CUresult waited = between(copy, [copy](Machine& machine) -> CUresult {
    for (CUcontext handle : {copy->dstContext, copy->srcContext}) {
      SOFTCUDA_TRY(to_result(machine.driver.synchronize(machine.contexts.find(handle)->device)));
    }
    return CUDA_SUCCESS;
  });
  return waited == CUDA_SUCCESS ? finish(box_of(*copy)) : waited;
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  const CUresult known = between(copy, [](Machine&) { return CUDA_SUCCESS; });
  return known == CUDA_SUCCESS ? queue(box_of(*copy), stream) : known;
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D* copy) {
  return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : finish(box_of(*copy));
}
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* copy) {
  return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : finish(box_of(*copy));
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : queue(box_of(*copy), stream);
}
CUresult cuMemcpy3D(const CUDA_MEMCPY3D* copy) { return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : finish(*copy); }
CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : queue(*copy, stream);
}
