// cuModule* and cuLibrary*: loading kernel objects and finding what is in them.
#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

// Queued kernels of a module must have run before its code goes away.
template <class Handle>
CUresult give(Handle* target, const Result<Module*>& module) {
  if (!module.is_ok()) return to_result(module.status());
  *target = reinterpret_cast<Handle>(module.value());
  return CUDA_SUCCESS;
}

template <class Handle>
CUresult give_function(Machine& machine, Handle* target, void* module, const char* name) {
  if (target == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto function = machine.modules.function(static_cast<Module*>(module), name);
  if (!function.is_ok()) return to_result(function.status());
  *target = reinterpret_cast<Handle>(function.value());
  return CUDA_SUCCESS;
}

CUresult give_global(Machine& machine, CUdeviceptr* address, size_t* bytes, void* module,
                     const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto range = machine.modules.global(static_cast<Module*>(module), name);
  if (!range.is_ok()) return to_result(range.status());
  if (address != nullptr) *address = range.value().base.value();
  if (bytes != nullptr) *bytes = range.value().bytes.value();
  return CUDA_SUCCESS;
}

CUresult unload(Machine& machine, void* module) {
  SOFTCUDA_TRY(machine.finish_all());
  return to_result(machine.modules.unload(static_cast<Module*>(module)));
}

}  // namespace

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    if (module == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return give(module, machine.modules.load_file(path, &context));
  });
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return give(module, machine.modules.load(image, &context));
  });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return cuModuleLoadData(module, image);
}

CUresult cuModuleUnload(CUmodule module) {
  return in_context([&](Machine& machine, Context&) { return unload(machine, module); });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return in_context(
      [&](Machine& machine, Context&) { return give_function(machine, function, module, name); });
}

CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return in_context([&](Machine& machine, Context&) {
    return give_global(machine, address, bytes, module, name);
  });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  return with_machine([&](Machine& machine) -> CUresult {
    if (library == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return give(library, machine.modules.load(image, nullptr));
  });
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**,
                               unsigned, CUlibraryOption*, void**, unsigned) {
  return with_machine([&](Machine& machine) -> CUresult {
    if (library == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return give(library, machine.modules.load_file(path, nullptr));
  });
}

CUresult cuLibraryUnload(CUlibrary library) {
  return with_machine([&](Machine& machine) { return unload(machine, library); });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return with_machine(
      [&](Machine& machine) { return give_function(machine, kernel, library, name); });
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return in_context([&](Machine&, Context&) {
    if (module == nullptr || library == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *module = reinterpret_cast<CUmodule>(library);
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                            const char* name) {
  return in_context([&](Machine& machine, Context&) {
    return give_global(machine, address, bytes, library, name);
  });
}
