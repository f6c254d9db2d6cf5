// cuMemset*: elements of one, two or four bytes, linear or in a rectangle.
#include "boxes.hpp"
#include "call.hpp"
#include "capture.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

struct Fill {
  CUdeviceptr to;
  std::uint32_t value;
  std::uint32_t element;  // bytes per element
};

// As on a GPU, even the call without Async may return before the bytes are set.
CUresult set_rectangle(const Fill& fill, size_t pitch, size_t width, size_t height, CUstream stream) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    const CUDA_MEMSET_NODE_PARAMS rows{fill.to, pitch, fill.value, fill.element, width, height};
    if (width == 0 || height == 0) return CUDA_SUCCESS;  // in a capture too: no node is added
    SOFTCUDA_TRY(check_rows(rows));
    const auto captured = machine.captures.capture(id.value(), [&] { return FillWork{rows}; });
    return captured ? *captured : set_rows(machine, rows, id.value());
  });
}

CUresult set_line(const Fill& fill, size_t count, CUstream stream) { return set_rectangle(fill, 0, count, 1, stream); }

// Without Async, managed memory and host pool memory are set when the call returns.
CUresult finished(CUresult queued, CUdeviceptr to) {
  if (queued != CUDA_SUCCESS) return queued;
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto range = machine.ranges.find(Address(to));
    const auto id = machine.streams.resolve(nullptr);
    if (!range || !range->in_host_frame || !id.is_ok()) return CUDA_SUCCESS;
    return to_result(machine.driver.synchronize(id.value()));
  });
}

}  // namespace

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return finished(set_line({to, value, 1}, count, nullptr), to);
}
CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
  return finished(set_line({to, value, 2}, count, nullptr), to);
}
CUresult cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  return finished(set_line({to, value, 4}, count, nullptr), to);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return set_line({to, value, 1}, count, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return set_line({to, value, 2}, count, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return set_line({to, value, 4}, count, stream);
}

CUresult cuMemsetD2D8(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return finished(set_rectangle({to, value, 1}, pitch, width, height, nullptr), to);
}
CUresult cuMemsetD2D16(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return finished(set_rectangle({to, value, 2}, pitch, width, height, nullptr), to);
}
CUresult cuMemsetD2D32(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height) {
  return finished(set_rectangle({to, value, 4}, pitch, width, height, nullptr), to);
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
  return set_rectangle({to, value, 1}, pitch, width, height, stream);
}
CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream) {
  return set_rectangle({to, value, 2}, pitch, width, height, stream);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                            CUstream stream) {
  return set_rectangle({to, value, 4}, pitch, width, height, stream);
}
