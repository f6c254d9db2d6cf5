// cuMemcpy2D*: copies of a rectangle, row by row.
#include "call.hpp"
#include "transfer.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

struct Rectangle {
  Place first;  // of its first row
  std::uint64_t pitch = 0;
};

// One side of the description; arrays are opaque memory that a software device does not have.
CUresult read_side(CUmemorytype type, const void* host, CUdeviceptr device, size_t pitch, size_t x,
                   size_t y, size_t width, Rectangle& side) {
  if (type == CU_MEMORYTYPE_ARRAY) return CUDA_ERROR_NOT_SUPPORTED;
  const bool on_host = type == CU_MEMORYTYPE_HOST;
  if (!on_host && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  side.pitch = pitch == 0 ? width : pitch;
  if (x + width > side.pitch) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t base = on_host ? reinterpret_cast<std::uint64_t>(host) : device;
  side.first = {base + y * side.pitch + x, type == CU_MEMORYTYPE_DEVICE ? End::kDevice : End::kAny};
  return base == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult copy_rows(Machine& machine, const CUDA_MEMCPY2D& copy, StreamId stream) {
  if (copy.WidthInBytes == 0 || copy.Height == 0) return CUDA_SUCCESS;
  Rectangle to, from;
  SOFTCUDA_TRY(read_side(copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstPitch,
                         copy.dstXInBytes, copy.dstY, copy.WidthInBytes, to));
  SOFTCUDA_TRY(read_side(copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcPitch,
                         copy.srcXInBytes, copy.srcY, copy.WidthInBytes, from));
  if (to.pitch == copy.WidthInBytes && from.pitch == copy.WidthInBytes) {
    return copy_bytes(machine, to.first, from.first, copy.WidthInBytes * copy.Height, stream);
  }
  for (size_t row = 0; row < copy.Height; ++row) {
    SOFTCUDA_TRY(copy_bytes(machine, to.first, from.first, copy.WidthInBytes, stream));
    to.first.address += to.pitch;
    from.first.address += from.pitch;
  }
  return CUDA_SUCCESS;
}

CUresult queue(const CUDA_MEMCPY2D* copy, CUstream stream, bool wait) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    SOFTCUDA_TRY(copy_rows(machine, *copy, id.value()));
    return wait ? to_result(machine.driver.synchronize(id.value())) : CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuMemcpy2D(const CUDA_MEMCPY2D* copy) { return queue(copy, nullptr, true); }
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* copy) { return queue(copy, nullptr, true); }
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return queue(copy, stream, false);
}
