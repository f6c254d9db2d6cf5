// The program's own waits and queries on streams, events and contexts: the work that they waited for is over
// (program_waits.hpp).
#include "capture.hpp"
#include "cuda_api.hpp"
#include "lifecycle.hpp"
#include "program_waits.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

template <class Call>
CUresult wait_for_stream(CUstream stream, Call call) {
  const QueuedWork queued;
  const CUresult result = call();
  if (result == CUDA_SUCCESS) queued.is_over(stream);
  return result;
}

template <class Call>
CUresult wait_for_event(CUevent event, Call call) {
  const auto record = program_events().find(event);
  const CUresult result = call();
  if (record && result == CUDA_SUCCESS && program_events().is_last(event, *record)) {
    record->work.is_over(record->stream);
  }
  return result;
}

// In a capture it stands for a position in the graph.
template <class Call>
CUresult record_event(CUevent event, CUstream stream, Call call) {
  if (!has_heap()) return call();
  const std::uint64_t turn = program_events().begin_record(event);
  const QueuedWork queued;
  const CUresult result = call();
  const bool runs = result == CUDA_SUCCESS && !capturing(stream);
  program_events().end_record(event, turn, runs ? std::optional(queued) : std::nullopt, stream);
  return result;
}

// Records of a whole context: the driver does not expose which streams it covers.
template <class Call>
CUresult record_unknown(CUevent event, Call call) {
  const std::uint64_t turn = program_events().begin_record(event);
  const CUresult result = call();
  program_events().end_record(event, turn, std::nullopt, nullptr);
  return result;
}

}  // namespace

TESSERA_HOOK_PTSZ(cuStreamSynchronize, (CUstream given),
                  { return wait_for_stream(stream, [&] { return call_true(True, given); }); })

TESSERA_HOOK_PTSZ(cuStreamQuery, (CUstream given),
                  { return wait_for_stream(stream, [&] { return call_true(True, given); }); })

TESSERA_HOOK cuCtxSynchronize() {
  const QueuedWork queued;
  const CUresult result = call_true(&TrueDriver::cuCtxSynchronize);
  if (result == CUDA_SUCCESS) queued.is_all_over();
  return result;
}

// Null means the current context; nothing is known here about other contexts.
TESSERA_HOOK cuCtxSynchronize_v2(CUcontext context) {
  const QueuedWork queued;
  CUcontext current = nullptr;
  const bool is_current =
      context == nullptr || (call_true(&TrueDriver::cuCtxGetCurrent, &current) == CUDA_SUCCESS && current == context);
  const CUresult result = call_true(&TrueDriver::cuCtxSynchronize_v2, context);
  if (result == CUDA_SUCCESS && is_current) queued.is_all_over();
  return result;
}

TESSERA_HOOK_PTSZ(cuEventRecord, (CUevent event, CUstream given),
                  { return record_event(event, stream, [&] { return call_true(True, event, given); }); })

TESSERA_HOOK_PTSZ(cuEventRecordWithFlags, (CUevent event, CUstream given, unsigned flags),
                  { return record_event(event, stream, [&] { return call_true(True, event, given, flags); }); })

TESSERA_HOOK cuCtxRecordEvent(CUcontext context, CUevent event) {
  return record_unknown(event, [&] { return call_true(&TrueDriver::cuCtxRecordEvent, context, event); });
}

TESSERA_HOOK cuGreenCtxRecordEvent(CUgreenCtx context, CUevent event) {
  return record_unknown(event, [&] { return call_true(&TrueDriver::cuGreenCtxRecordEvent, context, event); });
}

TESSERA_HOOK cuEventSynchronize(CUevent event) {
  return wait_for_event(event, [&] { return call_true(&TrueDriver::cuEventSynchronize, event); });
}

TESSERA_HOOK cuEventQuery(CUevent event) {
  return wait_for_event(event, [&] { return call_true(&TrueDriver::cuEventQuery, event); });
}

// A new event may get the same handle.
TESSERA_HOOK cuEventDestroy(CUevent event) {
  program_events().forget(event);
  return call_true(&TrueDriver::cuEventDestroy, event);
}

TESSERA_HOOK cuEventDestroy_v2(CUevent event) {
  program_events().forget(event);
  return call_true(&TrueDriver::cuEventDestroy_v2, event);
}

// Another process may record it from now on.
TESSERA_HOOK cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  program_events().tell_nothing();
  return call_true(&TrueDriver::cuIpcGetEventHandle, handle, event);
}

TESSERA_HOOK cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle) {
  program_events().tell_nothing();
  return call_true(&TrueDriver::cuIpcOpenEventHandle, event, handle);
}
