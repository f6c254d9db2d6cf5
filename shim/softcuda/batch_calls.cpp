// cuMemcpyBatchAsync: many copies in one call, each made like a cuMemcpyAsync.
#include "boxes.hpp"
#include "call.hpp"
#include "capture.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

// The copies of a batch are unordered among themselves, so stream order is valid. Attributes are hints here: the source
// is read in stream order, which satisfies every access order.
CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attributes, size_t* attribute_indices, size_t attribute_count,
                            CUstream stream) {
  if (to == nullptr || from == nullptr || sizes == nullptr || count == 0 || attributes == nullptr ||
      attribute_indices == nullptr || attribute_count == 0 || attribute_count > count || attribute_indices[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // As documented: a batch must not be queued on the legacy default stream.
  if (stream == nullptr || stream == CU_STREAM_LEGACY) return CUDA_ERROR_INVALID_VALUE;
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    for (size_t i = 0; i < count; ++i) {
      const Place target{to[i], End::kAny};
      const Place source{from[i], End::kAny};
      const auto captured = capture_box(machine, box_of(target, source, sizes[i]), id.value());
      SOFTCUDA_TRY(captured ? *captured : copy_bytes(machine, target, source, sizes[i], id.value()));
    }
    return CUDA_SUCCESS;
  });
}
