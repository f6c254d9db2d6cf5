// Green contexts: they use the primary context's memory, and their streams use a part of the device.
//
// The share of the device is only reported (green_shares.hpp). Enforced is the rule that affects programs and tools
// that observe them: streams of a green context accept no events of the primary context.
#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

CUgreenCtx green_handle_of(Context* context) { return reinterpret_cast<CUgreenCtx>(context); }

// Calls body(machine, context) for a live green context.
template <class Body>
CUresult on_green(CUgreenCtx handle, Body&& body) {
  return with_machine([&](Machine& machine) -> CUresult {
    Context* const context = machine.contexts.find(reinterpret_cast<CUcontext>(handle));
    if (context == nullptr || !context->green) return CUDA_ERROR_INVALID_VALUE;
    return context->alive ? body(machine, *context) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
  });
}

}  // namespace

CUresult cuGreenCtxCreate(CUgreenCtx* handle, CUdevResourceDesc description, CUdevice device, unsigned flags) {
  CUcontext primary = nullptr;
  SOFTCUDA_TRY(cuDevicePrimaryCtxRetain(&primary, device));
  const CUresult made = with_machine([&](Machine& machine) {
    const DeviceId on(static_cast<std::uint64_t>(device));
    const auto part = machine.green_shares.find(description);
    const bool right = handle != nullptr && part && part->device == on;
    if (!right || flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
    Context* const context = machine.contexts.create(on, 0);
    context->green = true;
    context->share = part->share;
    *handle = green_handle_of(context);
    return CUDA_SUCCESS;
  });
  if (made != CUDA_SUCCESS) SOFTCUDA_TRY(cuDevicePrimaryCtxRelease(device));
  return made;
}

// Allocations made in it belong to the primary context, and stay.
CUresult cuGreenCtxDestroy(CUgreenCtx handle) {
  return on_green(handle, [](Machine& machine, Context& context) -> CUresult {
    context.alive = false;
    SOFTCUDA_TRY(machine.streams.clear(&context));
    return cuDevicePrimaryCtxRelease(static_cast<CUdevice>(context.device.value()));
  });
}

CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx handle) {
  return on_green(handle, [&](Machine&, Context& green) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = handle_of(&green);
    return CUDA_SUCCESS;
  });
}

CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx handle, unsigned flags, int priority) {
  return on_green(handle, [&](Machine& machine, Context& context) -> CUresult {
    if (stream == nullptr || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    const auto id = machine.streams.create(context, flags, priority);
    if (!id.is_ok()) return to_result(id.status());
    *stream = handle_of(id.value());
    return CUDA_SUCCESS;
  });
}
