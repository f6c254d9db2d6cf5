// The CUDA driver's own functions, beneath our hooks of the same names.
//
// Resolved at the first call of a hook, so never in a program that does not use CUDA. The driver is the library that
// the program has loaded, under whatever name (driver_objects.hpp), else libcuda.so.1, and is read with glibc's own
// dlsym. A function missing from the driver stays null, and calling it returns CUDA_ERROR_NOT_SUPPORTED; without any
// driver it returns CUDA_ERROR_STUB_LIBRARY, as NVIDIA's stub does.
//
// Thread safety: any thread; the table is published once, without a lock.
#pragma once

#include "cuda_api.hpp"
#include "launch_facts.hpp"

namespace tessera::preload {

struct TrueDriver {
  void* library = nullptr;
#define HOOK(name, base, since, streams) decltype(&::name) name = nullptr;
#include "hooks.inc"
#undef HOOK
  // Used by the hooks themselves.
  decltype(&::cuCtxGetCurrent) cuCtxGetCurrent = nullptr;
  decltype(&::cuCtxPushCurrent_v2) cuCtxPushCurrent_v2 = nullptr;
  decltype(&::cuCtxPopCurrent_v2) cuCtxPopCurrent_v2 = nullptr;
  decltype(&::cuCtxGetDevice) cuCtxGetDevice = nullptr;
  decltype(&::cuDevicePrimaryCtxGetState) cuDevicePrimaryCtxGetState = nullptr;
  decltype(&::cuDeviceGetCount) cuDeviceGetCount = nullptr;
  decltype(&::cuDeviceGetDefaultMemPool) cuDeviceGetDefaultMemPool = nullptr;
  decltype(&::cuDeviceGetMemPool) cuDeviceGetMemPool = nullptr;
  decltype(&::cuFuncGetName) cuFuncGetName = nullptr;
  decltype(&::cuFuncGetParamInfo) cuFuncGetParamInfo = nullptr;
  decltype(&::cuKernelGetName) cuKernelGetName = nullptr;
  decltype(&::cuKernelGetParamInfo) cuKernelGetParamInfo = nullptr;
  decltype(&::cuMemImportFromShareableHandle) cuMemImportFromShareableHandle = nullptr;
  decltype(&::cuStreamGetCtx) cuStreamGetCtx = nullptr;
  decltype(&::cuStreamIsCapturing) cuStreamIsCapturing = nullptr;
  decltype(&::cuGraphGetNodes) cuGraphGetNodes = nullptr;
  decltype(&::cuGraphNodeGetType) cuGraphNodeGetType = nullptr;
  decltype(&::cuGraphKernelNodeGetParams_v2) cuGraphKernelNodeGetParams_v2 = nullptr;
  decltype(&::cuGraphKernelNodeGetAttribute) cuGraphKernelNodeGetAttribute = nullptr;
  decltype(&::cuGraphMemcpyNodeGetParams) cuGraphMemcpyNodeGetParams = nullptr;
  decltype(&::cuGraphMemsetNodeGetParams) cuGraphMemsetNodeGetParams = nullptr;
  decltype(&::cuGraphBatchMemOpNodeGetParams) cuGraphBatchMemOpNodeGetParams = nullptr;
  decltype(&::cuGraphChildGraphNodeGetGraph) cuGraphChildGraphNodeGetGraph = nullptr;
  decltype(&::cuGraphHostNodeGetParams) cuGraphHostNodeGetParams = nullptr;
  decltype(&::cuGraphEventRecordNodeGetEvent) cuGraphEventRecordNodeGetEvent = nullptr;
  decltype(&::cuGraphMemAllocNodeGetParams) cuGraphMemAllocNodeGetParams = nullptr;
  decltype(&::cuGraphMemFreeNodeGetParams) cuGraphMemFreeNodeGetParams = nullptr;
  decltype(&::cuGraphGetEdges_v2) cuGraphGetEdges_v2 = nullptr;
  decltype(&::cuGraphNodeGetParams) cuGraphNodeGetParams = nullptr;
  decltype(&::cuGraphNodeGetEnabled) cuGraphNodeGetEnabled = nullptr;
  decltype(&::cuGraphNodeSetEnabled) cuGraphNodeSetEnabled = nullptr;
};

namespace detail {
[[gnu::cold]] const TrueDriver& find_true_driver();
}  // namespace detail

inline const TrueDriver& true_driver() {
  const TrueDriver* const known = detail::launch_facts.driver.load(std::memory_order_acquire);
  return known != nullptr ? *known : detail::find_true_driver();
}

// Null if there is no such symbol or no driver.
void* true_symbol(const char* name);

template <class Function, class... Args>
[[gnu::always_inline]] inline CUresult call_true(Function TrueDriver::*function, Args... args) {
  const TrueDriver& driver = true_driver();
  if (driver.*function != nullptr) return (driver.*function)(args...);
  return driver.library != nullptr ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_STUB_LIBRARY;
}

}  // namespace tessera::preload
