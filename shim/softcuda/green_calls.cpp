// Green contexts: they use the primary context's memory, and their streams have a part of the device.
//
// There is only one multiprocessor, so each green context has the whole device. The behaviour that programs and
// interposers have to handle is kept: streams of green contexts accept no events of the primary context.
#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

// The only description: never dereferenced.
const CUdevResourceDesc kWholeDevice = reinterpret_cast<CUdevResourceDesc>(0x47726e52);

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

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
  return with_machine([&](Machine& machine) {
    if (device < 0 || device >= machine.environment.devices) return CUDA_ERROR_INVALID_DEVICE;
    if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *resource = {};
    resource->type = type;
    resource->sm.smCount = 1;
    resource->sm.minSmPartitionSize = 1;
    resource->sm.smCoscheduledAlignment = 1;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* description, CUdevResource* resources,
                                   unsigned count) {
  return with_machine([&](Machine&) {
    const bool whole = description != nullptr && resources != nullptr && count == 1 &&
                       resources->type == CU_DEV_RESOURCE_TYPE_SM && resources->sm.smCount == 1;
    if (!whole) return CUDA_ERROR_INVALID_VALUE;
    *description = kWholeDevice;
    return CUDA_SUCCESS;
  });
}

CUresult cuGreenCtxCreate(CUgreenCtx* handle, CUdevResourceDesc description, CUdevice device,
                          unsigned flags) {
  CUcontext primary = nullptr;
  SOFTCUDA_TRY(cuDevicePrimaryCtxRetain(&primary, device));
  const CUresult made = with_machine([&](Machine& machine) {
    const bool whole = handle != nullptr && description == kWholeDevice;
    if (!whole || flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
    Context* const context =
        machine.contexts.create(DeviceId(static_cast<std::uint64_t>(device)), 0);
    context->green = true;
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
