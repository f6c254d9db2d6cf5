// cuEvent*: markers in stream order.
#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

// Calls body(machine, event id, event info), or returns the error for an unknown event.
template <class Body>
CUresult on_event(CUevent event, Body&& body) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto info = machine.streams.find_event(event);
    if (!info.is_ok()) return to_result(info.status());
    return to_result(body(machine, id_of(event), info.value()));
  });
}

}  // namespace

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    constexpr unsigned kAll = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (event == nullptr || (flags & ~kAll) != 0) return CUDA_ERROR_INVALID_VALUE;
    const bool timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    if (timed && (flags & CU_EVENT_INTERPROCESS) != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto id = machine.streams.create_event(context, flags);
    if (!id.is_ok()) return to_result(id.status());
    *event = handle_of(id.value());
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy(CUevent event) {
  return in_context([&](Machine& machine, Context&) {
    machine.captures.drop(event);
    return machine.streams.destroy_event(event);
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  return on_event(event, [&](Machine& machine, EventId, const EventInfo& info) -> CUresult {
    const auto on = machine.streams.resolve(stream);
    if (!on.is_ok()) return to_result(on.status());
    const auto known = machine.streams.find(stream);
    const Context* const its = known ? known->context : current_context();
    if (info.context != its) return CUDA_ERROR_INVALID_HANDLE;
    const auto captured = flags == CU_EVENT_RECORD_EXTERNAL
                              ? machine.captures.capture(on.value(), [&] { return RecordWork{event}; })
                              : machine.captures.record(on.value(), event);
    return captured ? *captured : to_result(machine.streams.record(event, on.value()));
  });
}

// For all work of the context's device, of which its other contexts are a part.
CUresult cuCtxRecordEvent(CUcontext handle, CUevent event) {
  return on_event(event, [&](Machine& machine, EventId id, const EventInfo& info) -> CUresult {
    const Context* const context = machine.contexts.find(handle);
    if (context == nullptr || !context->alive) return CUDA_ERROR_INVALID_CONTEXT;
    if (info.context != context) return CUDA_ERROR_INVALID_HANDLE;
    SOFTCUDA_TRY(machine.captures.refuse_wait_for_all());
    return to_result(machine.driver.record_all(id));
  });
}

CUresult cuEventQuery(CUevent event) {
  return on_event(event, [&](Machine& machine, EventId, const EventInfo&) -> CUresult {
    SOFTCUDA_TRY(machine.captures.refuse_captured(event));
    SOFTCUDA_TRY(machine.captures.check_safe());
    return to_result(machine.streams.query(event));
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return on_event(event, [&](Machine& machine, EventId, const EventInfo&) -> CUresult {
    SOFTCUDA_TRY(machine.captures.refuse_captured(event));
    SOFTCUDA_TRY(machine.captures.check_safe());
    return to_result(machine.streams.synchronize(event));
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_event(start, [&](Machine& machine, EventId from, const EventInfo& first) -> CUresult {
    const auto second = machine.streams.find_event(end);
    if (!second.is_ok()) return to_result(second.status());
    if (((first.flags | second.value().flags) & CU_EVENT_DISABLE_TIMING) != 0) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    const auto nanoseconds = machine.driver.elapsed(from, id_of(end));
    if (!nanoseconds.is_ok()) return to_result(nanoseconds.status());
    *milliseconds = static_cast<float>(static_cast<double>(nanoseconds.value()) / 1e6);
    return CUDA_SUCCESS;
  });
}
