// cuMemcpy*: linear copies, also between devices.
#include "boxes.hpp"
#include "call.hpp"
#include "capture.hpp"
#include "device_copies.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

Place device(CUdeviceptr address) { return {address, End::kDevice}; }
Place any(CUdeviceptr address) { return {address, End::kAny}; }
Place host(const void* address) { return {reinterpret_cast<std::uint64_t>(address), End::kAny}; }

CUresult queue(Place to, Place from, size_t bytes, CUstream stream) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    const auto captured = capture_box(machine, box_of(to, from, bytes), id.value());
    return captured ? *captured : copy_in_order(machine, context, to, from, bytes, id.value());
  });
}

// The synchronous call returns when the bytes have arrived.
CUresult finish(Place to, Place from, size_t bytes) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    const auto id = machine.streams.resolve(nullptr);
    if (!id.is_ok()) return to_result(id.status());
    SOFTCUDA_TRY(machine.captures.refuse_wait(id.value()));
    SOFTCUDA_TRY(copy_in_order(machine, context, to, from, bytes, id.value()));
    return to_result(machine.driver.synchronize(id.value()));
  });
}

bool is_context(CUcontext context) {
  Machine* const machine = Machine::get();
  return machine != nullptr && machine->contexts.find(context) != nullptr;
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) { return finish(any(to), any(from), bytes); }
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return queue(any(to), any(from), bytes, stream);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) { return finish(device(to), host(from), bytes); }
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return queue(device(to), host(from), bytes, stream);
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) { return finish(host(to), device(from), bytes); }
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return queue(host(to), device(from), bytes, stream);
}

// Device to device is ordered like a kernel: the call may return before the bytes have been copied.
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return queue(device(to), device(from), bytes, nullptr);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return queue(device(to), device(from), bytes, stream);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
  if (!is_context(to_context) || !is_context(from_context)) return CUDA_ERROR_INVALID_CONTEXT;
  // Ordered with all work of both contexts, which no single stream can provide.
  for (CUcontext context : {to_context, from_context}) {
    const CUresult waited = with_machine(
        [context](Machine& machine) { return machine.driver.synchronize(machine.contexts.find(context)->device); });
    if (waited != CUDA_SUCCESS) return waited;
  }
  return finish(device(to), device(from), bytes);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
  if (!is_context(to_context) || !is_context(from_context)) return CUDA_ERROR_INVALID_CONTEXT;
  return queue(device(to), device(from), bytes, stream);
}
