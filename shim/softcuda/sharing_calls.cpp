// cuIpc*: legacy handles by which another process opens memory, and events (shared_events.hpp).
//
// Memory handles exist only for the base address of a cuMemAlloc allocation: the driver refuses virtual memory
// management and pools. Opening one is not supported, since every process has its own machine.
#include <cstring>

#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto range = machine.ranges.find(Address(address));
    if (handle == nullptr || !range || !range->legacy_shareable()) return CUDA_ERROR_INVALID_VALUE;
    std::memset(handle, 0, sizeof(*handle));
    std::memcpy(handle, &range->id, sizeof(range->id));
    return CUDA_SUCCESS;
  });
}

// Only an event created as interprocess, in this process, can be shared.
CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto info = machine.streams.find_event(event);
    if (!info.is_ok()) return to_result(info.status());
    if (!info.value().shared) return CUDA_ERROR_INVALID_HANDLE;
    const auto told = info.value().shared->handle();
    if (!told.is_ok()) return to_result(told.status());
    *handle = told.value();
    return CUDA_SUCCESS;
  });
}

CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto shared = SharedEvent::open(handle);
    if (!shared.is_ok()) return to_result(shared.status());
    constexpr unsigned kFlags = CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    const auto id =
        machine.streams.add_event(context, {.context = &context, .flags = kFlags, .shared = shared.value()});
    if (!id.is_ok()) return to_result(id.status());
    *event = handle_of(id.value());
    return CUDA_SUCCESS;
  });
}
