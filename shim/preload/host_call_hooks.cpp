// Host functions: whether any is pending matters to copies from memory that it may write (late_copies.hpp).
//
// In a capture the program's own function becomes a node, and each launch of the graph calls it.
#include <memory>

#include "capture.hpp"
#include "cuda_api.hpp"
#include "late_copies.hpp"
#include "lifecycle.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

template <class Function>
struct HostCall {
  Function* function;
  void* argument;
  std::uint64_t number;
};

using QueuedFunction = HostCall<void CUDA_CB(void*)>;
using QueuedCallback = HostCall<void CUDA_CB(CUstream, CUresult, void*)>;

void CUDA_CB call_function(void* argument) {
  const std::unique_ptr<QueuedFunction> call(static_cast<QueuedFunction*>(argument));
  call->function(call->argument);
  late_copies().host_function_over(call->number);
}

void CUDA_CB call_back(CUstream stream, CUresult result, void* argument) {
  const std::unique_ptr<QueuedCallback> call(static_cast<QueuedCallback*>(argument));
  call->function(stream, result, call->argument);
  late_copies().host_function_over(call->number);
}

// Without a heap no copy can store a managed address.
bool counts(const void* function, CUstream stream) { return function != nullptr && has_heap() && !capturing(stream); }

// Calls queue(ours, argument), which asks the driver to queue it.
template <class Call, class Function, class Queue>
CUresult queue_counted(Function* function, void* argument, Function* ours, Queue queue) {
  auto call = std::make_unique<Call>(Call{function, argument, late_copies().host_function_queued()});
  const std::uint64_t number = call->number;
  const CUresult result = queue(ours, call.get());
  if (result == CUDA_SUCCESS) {
    (void)call.release();  // owned by the callback now, which may have run already
  } else {
    late_copies().host_function_over(number);
  }
  return result;
}

}  // namespace

TESSERA_HOOK_PTSZ(cuLaunchHostFunc, (CUstream given, CUhostFn function, void* argument), {
  if (!counts(reinterpret_cast<const void*>(function), stream)) return call_true(True, given, function, argument);
  return queue_counted<QueuedFunction>(function, argument, &call_function,
                                       [&](CUhostFn ours, void* call) { return call_true(True, given, ours, call); });
})

TESSERA_HOOK_PTSZ(cuLaunchHostFunc_v2, (CUstream given, CUhostFn function, void* argument, unsigned mode), {
  if (!counts(reinterpret_cast<const void*>(function), stream)) return call_true(True, given, function, argument, mode);
  return queue_counted<QueuedFunction>(function, argument, &call_function, [&](CUhostFn ours, void* call) {
    return call_true(True, given, ours, call, mode);
  });
})

TESSERA_HOOK_PTSZ(cuStreamAddCallback, (CUstream given, CUstreamCallback function, void* argument, unsigned flags), {
  if (!counts(reinterpret_cast<const void*>(function), stream))
    return call_true(True, given, function, argument, flags);
  return queue_counted<QueuedCallback>(function, argument, &call_back, [&](CUstreamCallback ours, void* call) {
    return call_true(True, given, ours, call, flags);
  });
})
