// cuStream*: streams, their ordering, and host functions.
#include <memory>

#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

constexpr int kHighestPriority = -5;  // accepted and stored; the engines serve in queue order

// Calls body(info) with a stream's properties; for a default stream, with CUDA's documented values.
CUresult with_info(CUstream stream, auto&& body) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    const auto info = machine.streams.find(stream);
    return body(info ? *info : StreamInfo{.context = &context});
  });
}

}  // namespace

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return in_context([&](Machine&, Context&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = kHighestPriority;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    if (stream == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    const int kept = std::max(kHighestPriority, std::min(priority, 0));
    const auto id = machine.streams.create(context, flags, kept);
    if (!id.is_ok()) return to_result(id.status());
    *stream = handle_of(id.value());
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

CUresult cuStreamDestroy(CUstream stream) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto id = machine.streams.resolve(stream);
    if (id.is_ok()) machine.captures.drop(id.value());
    return to_result(machine.streams.destroy(stream));
  });
}

CUresult cuStreamQuery(CUstream stream) {
  return on_stream(stream, [](Machine& machine, StreamId id) -> CUresult {
    SOFTCUDA_TRY(machine.captures.refuse_wait(id));
    return to_result(machine.driver.query(id));
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  return on_stream(stream, [](Machine& machine, StreamId id) -> CUresult {
    SOFTCUDA_TRY(machine.captures.refuse_wait(id));
    return to_result(machine.driver.synchronize(id));
  });
}

// An external wait is a graph node; any other wait is a dependency.
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return on_stream(stream, [&](Machine& machine, StreamId id) -> CUresult {
    const auto known = machine.streams.find_event(event);
    if (!known.is_ok()) return to_result(known.status());
    const bool external = (flags & CU_EVENT_WAIT_EXTERNAL) != 0;
    const auto captured =
        external ? machine.captures.capture(id, [&] { return WaitWork{event}; }) : machine.captures.wait(id, event);
    return captured ? *captured : to_result(machine.streams.wait(id, event));
  });
}

CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_info(stream, [&](const StreamInfo& info) {
    *priority = info.priority;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_info(stream, [&](const StreamInfo& info) {
    *flags = info.flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_info(stream, [&](const StreamInfo& info) {
    *context = handle_of(info.context);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_info(stream, [&](const StreamInfo& info) {
    *device = static_cast<CUdevice>(info.context->device.value());
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetId(CUstream stream, unsigned long long* number) {
  if (number == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_stream(stream, [&](Machine&, StreamId id) {
    *number = id.value();
    return CUDA_SUCCESS;
  });
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* argument) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_stream(stream, [&](Machine& machine, StreamId id) -> CUresult {
    const auto captured = machine.captures.capture(id, [&] { return HostWork{{function, argument}}; });
    if (captured) return *captured;
    return to_result(machine.driver.host_function(id, [=] { function(argument); }));
  });
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* argument, unsigned flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return on_stream(stream, [&](Machine& machine, StreamId id) -> CUresult {
    SOFTCUDA_TRY(machine.captures.refuse_wait(id));
    return to_result(machine.driver.host_function(id, [=] { callback(stream, CUDA_SUCCESS, argument); }));
  });
}
