// Destruction of streams, modules and contexts, announced beforehand to the components that remember them.
#include <map>
#include <mutex>

#include "capture.hpp"
#include "cuda_api.hpp"
#include "current_pools.hpp"
#include "driver_objects.hpp"
#include "driver_room.hpp"
#include "graph_execs.hpp"
#include "green_contexts.hpp"
#include "held_blocks.hpp"
#include "in_context.hpp"
#include "kernel_layouts.hpp"
#include "lifecycle.hpp"
#include "managed_use.hpp"
#include "old_launches.hpp"
#include "outcome.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

// Memory that the driver has released may be available now.
CUresult noted(CUresult result) {
  if (result == CUDA_SUCCESS) expect_device_memory();
  return result;
}

// A stream that Tessera cannot retire may still be destroyed by the program.
void retire(CUstream stream) {
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (allocator == nullptr || stream == nullptr || entry.nested()) return;
  const tessera_result result = tessera_retire_stream(allocator, stream_of(stream));
  if (result != TESSERA_OK) (void)cuda_result_said(result, "cuStreamDestroy");
}

// A capturing stream already has its last fence; destroying it also ends its capture.
template <class Function>
CUresult destroy(Function TrueDriver::*function, CUstream stream) {
  if (!capturing(stream)) {
    retire(stream);
    return call_true(function, stream);
  }
  const CUresult result = call_true(function, stream);
  if (result == CUDA_SUCCESS) capture_dropped(stream);
  return result;
}

// Forgotten before the driver's call: afterwards another thread may load a function with the same handle.
void forget_functions() {
  KernelLayouts::forget_all();
  forget_old_parameters();
}

// Functions and executable graphs end with their context. If Tessera ended with it too, the blocks that the graphs held
// are gone.
void leave(CUcontext context) {
  forget_functions();
  leave_context(context);
  if (running() != nullptr) return;
  graph_execs().forget_all();
  held_blocks().forget_all();
}

bool is_primary(CUcontext context) {
  const CUdevice device = InContext(context).device();
  return device >= 0 && active_primary(device) == context;
}

// For cuCtxDestroy and similar calls, which the driver refuses for a primary context.
void leave_if_own(CUcontext context) {
  if (!is_primary(context)) leave(context);
}

std::mutex attached_lock;

// How often each context was attached, as in the CUDA 2 API. Never destroyed: exit handlers may still detach one.
std::map<CUcontext, unsigned>& attached() {
  static auto& counts = *new std::map<CUcontext, unsigned>;
  return counts;
}

// The last detach destroys the context.
CUresult detach(CUcontext context) {
  const std::lock_guard<std::mutex> lock(attached_lock);
  const auto known = attached().find(context);
  if (known == attached().end()) {
    leave_if_own(context);
    return call_true(&TrueDriver::cuCtxDetach, context);
  }
  const CUresult result = call_true(&TrueDriver::cuCtxDetach, context);
  if (result == CUDA_SUCCESS && --known->second == 0) attached().erase(known);
  return result;
}

void leave_primary_context(CUdevice device) {
  forget_functions();
  const CUcontext primary = running() != nullptr ? active_primary(device) : nullptr;
  if (primary != nullptr) leave(primary);
}

constinit std::mutex primary_lock;

// How often the program has retained and not released the primary context of each device.
std::map<CUdevice, unsigned>& retained() {
  static auto& counts = *new std::map<CUdevice, unsigned>;
  return counts;
}

// The last release destroys the context with everything in it, so Tessera gives up its own reference before. Green
// contexts hold references too; then the context stays.
template <class Function>
CUresult release_primary(Function TrueDriver::*function, CUdevice device, const void* caller) {
  if (lies_in_known_driver(caller)) return call_true(function, device);
  const std::lock_guard<std::mutex> lock(primary_lock);
  const auto known = retained().find(device);
  const bool counted = known != retained().end() && known->second > 0;
  if (counted && known->second == 1 && !detail::launch_facts.any_green.load()) leave_primary_context(device);
  const CUresult result = call_true(function, device);
  current_pools().forget();
  if (counted && result == CUDA_SUCCESS) --known->second;
  return result;
}

}  // namespace

TESSERA_HOOK cuStreamDestroy(CUstream stream) { return destroy(&TrueDriver::cuStreamDestroy, stream); }

TESSERA_HOOK cuStreamDestroy_v2(CUstream stream) { return destroy(&TrueDriver::cuStreamDestroy_v2, stream); }

TESSERA_HOOK cuModuleUnload(CUmodule module) {
  forget_functions();
  return noted(call_true(&TrueDriver::cuModuleUnload, module));
}

TESSERA_HOOK cuLibraryUnload(CUlibrary library) {
  forget_functions();
  return noted(call_true(&TrueDriver::cuLibraryUnload, library));
}

TESSERA_HOOK cuCtxDestroy(CUcontext context) {
  leave_if_own(context);
  return noted(call_true(&TrueDriver::cuCtxDestroy, context));
}

TESSERA_HOOK cuCtxDestroy_v2(CUcontext context) {
  leave_if_own(context);
  return noted(call_true(&TrueDriver::cuCtxDestroy_v2, context));
}

TESSERA_HOOK cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (lies_in_known_driver(TESSERA_CALLER)) return call_true(&TrueDriver::cuDevicePrimaryCtxRetain, context, device);
  const std::lock_guard<std::mutex> lock(primary_lock);
  const DriverNeed need{.device = device};
  const CUresult result = call_with_room(need, &TrueDriver::cuDevicePrimaryCtxRetain, context, device);
  if (result == CUDA_SUCCESS) ++retained()[device];
  return result;
}

TESSERA_HOOK cuDevicePrimaryCtxRelease(CUdevice device) {
  return release_primary(&TrueDriver::cuDevicePrimaryCtxRelease, device, TESSERA_CALLER);
}

TESSERA_HOOK cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return release_primary(&TrueDriver::cuDevicePrimaryCtxRelease_v2, device, TESSERA_CALLER);
}

TESSERA_HOOK cuDevicePrimaryCtxReset(CUdevice device) {
  leave_primary_context(device);
  return call_true(&TrueDriver::cuDevicePrimaryCtxReset, device);
}

TESSERA_HOOK cuDevicePrimaryCtxReset_v2(CUdevice device) {
  leave_primary_context(device);
  return call_true(&TrueDriver::cuDevicePrimaryCtxReset_v2, device);
}

TESSERA_HOOK cuCtxAttach(CUcontext* context, unsigned flags) {
  const CUresult result = call_true(&TrueDriver::cuCtxAttach, context, flags);
  if (result != CUDA_SUCCESS) return result;
  const std::lock_guard<std::mutex> lock(attached_lock);
  ++attached()[*context];
  return result;
}

TESSERA_HOOK cuCtxDetach(CUcontext context) { return detach(context); }
