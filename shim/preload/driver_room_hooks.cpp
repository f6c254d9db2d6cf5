// Calls forwarded to the driver with respect to device memory: those that allocate it are retried after Tessera yields
// free memory (driver_room.hpp), and those that release it are noted. Calls for pools are in pool_hooks.cpp.
#include "cuda_api.hpp"
#include "driver_room.hpp"
#include "live_contexts.hpp"
#include "outside_memory.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

DriverNeed on(CUdevice device) { return {.device = device}; }

// The device of an allocation; -2 if it is not on a device, so that nothing is yielded.
CUdevice device_of(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : -2;
}

std::uint64_t key_of(const void* array) { return reinterpret_cast<std::uintptr_t>(array); }

// The driver may have memory for us after `call` has released some.
template <class Function, class... Args>
CUresult call_and_expect(Function TrueDriver::*function, Args... args) {
  const CUresult result = call_true(function, args...);
  if (result == CUDA_SUCCESS) expect_device_memory();
  return result;
}

CUresult created(CUresult result, CUcontext* context) {
  if (result == CUDA_SUCCESS) note_context(*context);
  return result;
}

}  // namespace

// ---- contexts -----------------------------------------------------------------------------------

TESSERA_HOOK cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
  return created(call_with_room(on(device), &TrueDriver::cuCtxCreate, context, flags, device), context);
}

TESSERA_HOOK cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return created(call_with_room(on(device), &TrueDriver::cuCtxCreate_v2, context, flags, device), context);
}

TESSERA_HOOK cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinities, int count, unsigned flags,
                            CUdevice device) {
  return created(call_with_room(on(device), &TrueDriver::cuCtxCreate_v3, context, affinities, count, flags, device),
                 context);
}

TESSERA_HOOK cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned flags, CUdevice device) {
  return created(call_with_room(on(device), &TrueDriver::cuCtxCreate_v4, context, params, flags, device), context);
}

TESSERA_HOOK cuGreenCtxCreate(CUgreenCtx* context, CUdevResourceDesc resources, CUdevice device, unsigned flags) {
  return call_with_room(on(device), &TrueDriver::cuGreenCtxCreate, context, resources, device, flags);
}

TESSERA_HOOK cuCtxSetLimit(CUlimit limit, std::size_t value) {
  return call_with_room({}, &TrueDriver::cuCtxSetLimit, limit, value);
}

TESSERA_HOOK cuStreamCreate(CUstream* stream, unsigned flags) {
  return call_with_room({}, &TrueDriver::cuStreamCreate, stream, flags);
}

TESSERA_HOOK cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return call_with_room({}, &TrueDriver::cuStreamCreateWithPriority, stream, flags, priority);
}

TESSERA_HOOK cuEventCreate(CUevent* event, unsigned flags) {
  return call_with_room({}, &TrueDriver::cuEventCreate, event, flags);
}

// ---- code ---------------------------------------------------------------------------------------

TESSERA_HOOK cuModuleLoad(CUmodule* module, const char* path) {
  return call_with_room({}, &TrueDriver::cuModuleLoad, module, path);
}

TESSERA_HOOK cuModuleLoadData(CUmodule* module, const void* image) {
  return call_with_room({}, &TrueDriver::cuModuleLoadData, module, image);
}

TESSERA_HOOK cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                void** values) {
  return call_with_room({}, &TrueDriver::cuModuleLoadDataEx, module, image, count, options, values);
}

TESSERA_HOOK cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return call_with_room({}, &TrueDriver::cuModuleLoadFatBinary, module, image);
}

TESSERA_HOOK cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return call_with_room({}, &TrueDriver::cuModuleGetFunction, function, module, name);
}

TESSERA_HOOK cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* bytes, CUmodule module, const char* name) {
  return call_with_room({}, &TrueDriver::cuModuleGetGlobal_v2, address, bytes, module, name);
}

TESSERA_HOOK cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit, void** jit_values,
                               unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) {
  return call_with_room({}, &TrueDriver::cuLibraryLoadData, library, code, jit, jit_values, jit_count, options, values,
                        count);
}

TESSERA_HOOK cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit, void** jit_values,
                                   unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) {
  return call_with_room({}, &TrueDriver::cuLibraryLoadFromFile, library, path, jit, jit_values, jit_count, options,
                        values, count);
}

TESSERA_HOOK cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return call_with_room({}, &TrueDriver::cuLibraryGetModule, module, library);
}

TESSERA_HOOK cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUlibrary library, const char* name) {
  return call_with_room({}, &TrueDriver::cuLibraryGetGlobal, address, bytes, library, name);
}

TESSERA_HOOK cuLibraryGetManaged(CUdeviceptr* address, std::size_t* bytes, CUlibrary library, const char* name) {
  return call_with_room({}, &TrueDriver::cuLibraryGetManaged, address, bytes, library, name);
}

TESSERA_HOOK cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return call_with_room({}, &TrueDriver::cuKernelGetFunction, function, kernel);
}

TESSERA_HOOK cuFuncLoad(CUfunction function) { return call_with_room({}, &TrueDriver::cuFuncLoad, function); }

// ---- memory -------------------------------------------------------------------------------------

TESSERA_HOOK cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
  const CUresult result = call_with_room({.bytes = bytes}, &TrueDriver::cuMemAllocManaged, address, bytes, flags);
  return note_address(result, OutsideMemory::Kind::kManaged, address, bytes, {"cuMemAllocManaged", TESSERA_CALLER});
}

TESSERA_HOOK cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* shape) {
  const CUresult result = call_with_room({}, &TrueDriver::cuArrayCreate_v2, array, shape);
  if (result != CUDA_SUCCESS) return result;
  const CUDA_ARRAY3D_DESCRIPTOR whole{shape->Width, shape->Height, 0, shape->Format, shape->NumChannels, 0};
  return note_array(result, key_of(*array), array_bytes(whole), {"cuArrayCreate", TESSERA_CALLER});
}

TESSERA_HOOK cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  const CUresult result = call_with_room({}, &TrueDriver::cuArray3DCreate_v2, array, shape);
  if (result != CUDA_SUCCESS) return result;
  return note_array(result, key_of(*array), array_bytes(*shape), {"cuArray3DCreate", TESSERA_CALLER});
}

TESSERA_HOOK cuArrayDestroy(CUarray array) {
  const CUresult result = call_and_expect(&TrueDriver::cuArrayDestroy, array);
  if (result == CUDA_SUCCESS) outside_memory().gave_back(OutsideMemory::Kind::kArray, key_of(array));
  return result;
}

TESSERA_HOOK cuMipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* shape, unsigned levels) {
  const CUresult result = call_with_room({}, &TrueDriver::cuMipmappedArrayCreate, array, shape, levels);
  if (result != CUDA_SUCCESS) return result;
  return note_array(result, key_of(*array), array_bytes(*shape, levels), {"cuMipmappedArrayCreate", TESSERA_CALLER});
}

TESSERA_HOOK cuMipmappedArrayDestroy(CUmipmappedArray array) {
  const CUresult result = call_and_expect(&TrueDriver::cuMipmappedArrayDestroy, array);
  if (result == CUDA_SUCCESS) outside_memory().gave_back(OutsideMemory::Kind::kArray, key_of(array));
  return result;
}

// ---- graphs -------------------------------------------------------------------------------------

TESSERA_HOOK cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, std::size_t count,
                                    CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  const CUdevice device = params != nullptr ? device_of(params->poolProps.location) : -2;
  const std::uint64_t bytes = params != nullptr ? params->bytesize : 0;
  return call_with_room({.bytes = bytes, .device = device}, &TrueDriver::cuGraphAddMemAllocNode, node, graph, after,
                        count, params);
}

TESSERA_HOOK_PTSZ(cuGraphUpload, (CUgraphExec exec, CUstream given),
                  { return call_with_room({.stream = stream}, True, exec, given); })
