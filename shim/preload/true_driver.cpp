#include "true_driver.hpp"

#include <dlfcn.h>

#include <atomic>
#include <memory>

#include "driver_objects.hpp"
#include "true_loader.hpp"

namespace tessera::preload {
namespace {

std::unique_ptr<TrueDriver> find_driver() {
  auto found = std::make_unique<TrueDriver>();
  found->library = open_loaded_driver();
  if (found->library == nullptr) found->library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (found->library == nullptr) return found;
  const auto look_up = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(true_dlsym(found->library, name));
  };
#define HOOK(name, base, since, streams) look_up(found->name, #name);
#include "hooks.inc"
#undef HOOK
  look_up(found->cuCtxGetCurrent, "cuCtxGetCurrent");
  look_up(found->cuCtxPushCurrent_v2, "cuCtxPushCurrent_v2");
  look_up(found->cuCtxPopCurrent_v2, "cuCtxPopCurrent_v2");
  look_up(found->cuCtxGetDevice, "cuCtxGetDevice");
  look_up(found->cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState");
  look_up(found->cuDeviceGetCount, "cuDeviceGetCount");
  look_up(found->cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool");
  look_up(found->cuDeviceGetMemPool, "cuDeviceGetMemPool");
  look_up(found->cuFuncGetName, "cuFuncGetName");
  look_up(found->cuFuncGetParamInfo, "cuFuncGetParamInfo");
  look_up(found->cuKernelGetName, "cuKernelGetName");
  look_up(found->cuKernelGetParamInfo, "cuKernelGetParamInfo");
  look_up(found->cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle");
  look_up(found->cuStreamGetCtx, "cuStreamGetCtx");
  look_up(found->cuStreamIsCapturing, "cuStreamIsCapturing");
  look_up(found->cuGraphGetNodes, "cuGraphGetNodes");
  look_up(found->cuGraphNodeGetType, "cuGraphNodeGetType");
  look_up(found->cuGraphKernelNodeGetParams_v2, "cuGraphKernelNodeGetParams_v2");
  look_up(found->cuGraphKernelNodeGetAttribute, "cuGraphKernelNodeGetAttribute");
  look_up(found->cuGraphMemcpyNodeGetParams, "cuGraphMemcpyNodeGetParams");
  look_up(found->cuGraphMemsetNodeGetParams, "cuGraphMemsetNodeGetParams");
  look_up(found->cuGraphBatchMemOpNodeGetParams, "cuGraphBatchMemOpNodeGetParams");
  look_up(found->cuGraphChildGraphNodeGetGraph, "cuGraphChildGraphNodeGetGraph");
  look_up(found->cuGraphHostNodeGetParams, "cuGraphHostNodeGetParams");
  look_up(found->cuGraphEventRecordNodeGetEvent, "cuGraphEventRecordNodeGetEvent");
  look_up(found->cuGraphMemAllocNodeGetParams, "cuGraphMemAllocNodeGetParams");
  look_up(found->cuGraphMemFreeNodeGetParams, "cuGraphMemFreeNodeGetParams");
  look_up(found->cuGraphGetEdges_v2, "cuGraphGetEdges_v2");
  look_up(found->cuGraphNodeGetParams, "cuGraphNodeGetParams");
  look_up(found->cuGraphNodeGetEnabled, "cuGraphNodeGetEnabled");
  look_up(found->cuGraphNodeSetEnabled, "cuGraphNodeSetEnabled");
  return found;
}

}  // namespace

const TrueDriver& detail::find_true_driver() {
  std::unique_ptr<TrueDriver> found = find_driver();
  const TrueDriver* expected = nullptr;
  if (!launch_facts.driver.compare_exchange_strong(expected, found.get())) return *expected;
  return *found.release();
}

void* true_symbol(const char* name) {
  void* const library = true_driver().library;
  return library != nullptr ? true_dlsym(library, name) : nullptr;
}

}  // namespace tessera::preload
