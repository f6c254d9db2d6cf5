// cuInit, cuCtx* and cuDevicePrimaryCtx*: initialisation, and the current context of a thread.
#include <utility>

#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

bool is_device(Machine& machine, CUdevice device) { return device >= 0 && device < machine.environment.devices; }

// Makes the calling thread's default streams those of its current context.
CUresult follow_current(Machine& machine) {
  const Context* const context = current_context();
  return context == nullptr ? CUDA_SUCCESS : to_result(machine.driver.set_current_device(context->device));
}

CUresult take_own_memory(Machine& machine, Context& context) {
  const MutexLock lock(context.memory_mutex);
  if (context.own_memory != FrameId()) return CUDA_SUCCESS;
  const auto held = machine.memory.hold(context.device, machine.environment.context_memory);
  if (held.is_ok()) context.own_memory = held.value();
  return to_result(held.status());
}

CUresult let_go(Machine& machine, FrameId& memory) {
  return to_result(machine.memory.let_go(std::exchange(memory, FrameId())));
}

CUresult let_go_of_own_memory(Machine& machine, Context& context) {
  const MutexLock lock(context.memory_mutex);
  return let_go(machine, context.own_memory);
}

// Waits for the context's work, then releases everything created in it.
CUresult destroy_contents(Machine& machine, Context& context) {
  const CUresult finished = to_result(machine.driver.synchronize(context.device));
  SOFTCUDA_TRY(machine.memory.settle());
  machine.arrays.forget(&context);
  for (const Range& range : machine.ranges.of(&context)) {
    if (range.kind == RangeKind::kDevice) SOFTCUDA_TRY(machine.memory.free(range.base));
    void* const host = reinterpret_cast<void*>(range.base.value());
    if (range.kind == RangeKind::kHost) SOFTCUDA_TRY(machine.host_memory.free(host));
    if (range.kind == RangeKind::kRegistered) SOFTCUDA_TRY(machine.host_memory.unpin(host));
  }
  SOFTCUDA_TRY(machine.streams.clear(&context));
  machine.modules.clear(&context);
  {
    const MutexLock lock(context.memory_mutex);
    SOFTCUDA_TRY(let_go(machine, context.local_memory));
  }
  machine.contexts.forget_peers(&context);
  return finished;
}

CUresult end_primary(Machine& machine, Context& context) {
  if (!context.alive.exchange(false)) return CUDA_SUCCESS;
  const CUresult destroyed = destroy_contents(machine, context);
  SOFTCUDA_TRY(let_go_of_own_memory(machine, context));
  return destroyed;
}

template <class Body>
CUresult on_primary(CUdevice device, Body&& body) {
  return with_machine([&](Machine& machine) -> CUresult {
    if (!is_device(machine, device)) return CUDA_ERROR_INVALID_DEVICE;
    return body(machine, *machine.contexts.primary(DeviceId(static_cast<std::uint64_t>(device))));
  });
}

}  // namespace

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  try {
    return Machine::start();
  } catch (const std::exception&) {
    return CUDA_ERROR_UNKNOWN;
  }
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = TESSERA_NEWEST_CUDA;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext* handle, CUctxCreateParams*, unsigned flags, CUdevice device) {
  return with_machine([&](Machine& machine) -> CUresult {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(machine, device)) return CUDA_ERROR_INVALID_DEVICE;
    Context* const context = machine.contexts.create(DeviceId(static_cast<std::uint64_t>(device)), flags);
    SOFTCUDA_TRY(take_own_memory(machine, *context));
    if (!push_context(context)) return CUDA_ERROR_OUT_OF_MEMORY;
    *handle = handle_of(context);
    return follow_current(machine);
  });
}

CUresult cuCtxDestroy(CUcontext handle) {
  return with_machine([&](Machine& machine) -> CUresult {
    Context* const context = machine.contexts.find(handle);
    if (context == nullptr || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->alive.exchange(false)) return CUDA_ERROR_INVALID_CONTEXT;
    if (current_context() == context) pop_context();
    SOFTCUDA_TRY(follow_current(machine));
    const CUresult destroyed = destroy_contents(machine, *context);
    SOFTCUDA_TRY(let_go_of_own_memory(machine, *context));
    return destroyed;
  });
}

CUresult cuCtxAttach(CUcontext* handle, unsigned flags) {
  return in_context([&](Machine&, Context& context) {
    if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    ++context.users;
    *handle = handle_of(&context);
    return CUDA_SUCCESS;
  });
}

// The creator of the context is its first user, and is not counted.
CUresult cuCtxDetach(CUcontext handle) {
  Context* const context = current_context();
  if (context == nullptr || handle_of(context) != handle) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->users == 0) return cuCtxDestroy(handle);
  --context->users;
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext handle) {
  return with_machine([&](Machine& machine) -> CUresult {
    Context* const context = machine.contexts.find(handle);
    if (context == nullptr || !context->alive) return CUDA_ERROR_INVALID_CONTEXT;
    if (!push_context(context)) return CUDA_ERROR_OUT_OF_MEMORY;
    return follow_current(machine);
  });
}

CUresult cuCtxPopCurrent(CUcontext* handle) {
  return with_machine([&](Machine& machine) -> CUresult {
    Context* const context = pop_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (handle != nullptr) *handle = handle_of(context);
    return follow_current(machine);
  });
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  return with_machine([&](Machine& machine) -> CUresult {
    Context* const context = handle == nullptr ? nullptr : machine.contexts.find(handle);
    if (handle != nullptr && (context == nullptr || !context->alive)) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (!set_context(context)) return CUDA_ERROR_OUT_OF_MEMORY;
    return follow_current(machine);
  });
}

CUresult cuCtxGetCurrent(CUcontext* handle) {
  return with_machine([&](Machine&) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *handle = handle_of(current_context());
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return in_context([&](Machine&, Context& context) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = static_cast<CUdevice>(context.device.value());
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetFlags(unsigned* flags) {
  return in_context([&](Machine&, Context& context) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = context.flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetFlags(unsigned flags) {
  return in_context([&](Machine&, Context& context) {
    context.flags = flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return with_machine([&](Machine& machine) {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* const context = handle == nullptr ? current_context() : machine.contexts.find(handle);
    if (context == nullptr || !context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *id = context->id;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
  return with_machine([&](Machine&) {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = TESSERA_NEWEST_CUDA;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() {
  return in_context([](Machine& machine, Context& context) -> CUresult {
    SOFTCUDA_TRY(machine.captures.refuse_wait_for_all());
    return to_result(machine.driver.synchronize(context.device));
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
  return on_primary(device, [&](Machine& machine, Context& context) -> CUresult {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    SOFTCUDA_TRY(take_own_memory(machine, context));
    context.users.fetch_add(1);
    context.alive = true;
    *handle = handle_of(&context);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return on_primary(device, [](Machine& machine, Context& context) -> CUresult {
    int users = context.users;
    do {
      if (users == 0) return CUDA_ERROR_INVALID_CONTEXT;
    } while (!context.users.compare_exchange_weak(users, users - 1));
    return users > 1 ? CUDA_SUCCESS : end_primary(machine, context);
  });
}

// However often it was retained. Threads in which it is current get CUDA_ERROR_CONTEXT_IS_DESTROYED until it is
// retained again.
CUresult cuDevicePrimaryCtxReset(CUdevice device) { return on_primary(device, end_primary); }

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return on_primary(device, [&](Machine&, Context& context) {
    context.flags = flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return on_primary(device, [&](Machine&, Context& context) {
    if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = context.flags;
    *active = context.alive ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

// Settings without meaning on a software device: reported with CUDA's defaults, accepted and ignored.
CUresult cuCtxGetLimit(size_t* value, CUlimit) {
  return in_context([&](Machine&, Context&) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxSetLimit(CUlimit, size_t) {
  return in_context([](Machine&, Context&) { return CUDA_SUCCESS; });
}
CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return in_context([&](Machine&, Context&) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = CU_FUNC_CACHE_PREFER_NONE;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxSetCacheConfig(CUfunc_cache) {
  return in_context([](Machine&, Context&) { return CUDA_SUCCESS; });
}
