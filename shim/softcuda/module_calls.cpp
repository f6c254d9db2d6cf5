// cuModule* and cuLibrary*: loading kernel objects and looking up their contents.
#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

template <class Handle, class Made>
CUresult give(Handle* target, const Result<Made*>& made) {
  if (!made.is_ok()) return to_result(made.status());
  *target = handle_of(made.value());
  return CUDA_SUCCESS;
}

template <class Handle, class Made>
CUresult give_all(Handle* targets, unsigned room, const Result<std::vector<Made*>>& made) {
  if (targets == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!made.is_ok()) return to_result(made.status());
  for (Made* const each : made.value()) {
    if (room-- == 0) break;
    *targets++ = handle_of(each);
  }
  return CUDA_SUCCESS;
}

template <class Made>
CUresult count(unsigned* number, const Result<std::vector<Made*>>& made) {
  if (number == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!made.is_ok()) return to_result(made.status());
  *number = static_cast<unsigned>(made.value().size());
  return CUDA_SUCCESS;
}

CUresult give_global(Machine& machine, CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto range = machine.modules.global(module, name);
  if (!range.is_ok()) return to_result(range.status());
  if (address != nullptr) *address = range.value().base.value();
  if (bytes != nullptr) *bytes = range.value().bytes.value();
  return CUDA_SUCCESS;
}

// Queued kernels must have run before their code is unloaded.
template <class Handle>
CUresult unload(Machine& machine, Handle handle) {
  SOFTCUDA_TRY(machine.finish_all());
  return to_result(machine.modules.unload(handle));
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
  return in_context([&](Machine& machine, Context&) {
    if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return give(function, machine.modules.function(module, name));
  });
}

CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return in_context([&](Machine& machine, Context&) { return give_global(machine, address, bytes, module, name); });
}

CUresult cuModuleGetFunctionCount(unsigned* number, CUmodule module) {
  return with_machine([&](Machine& machine) { return count(number, machine.modules.functions(module)); });
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned room, CUmodule module) {
  return in_context(
      [&](Machine& machine, Context&) { return give_all(functions, room, machine.modules.functions(module)); });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned, CUlibraryOption*,
                           void**, unsigned) {
  return with_machine([&](Machine& machine) -> CUresult {
    if (library == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return give(library, machine.modules.load_library(image));
  });
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned, CUlibraryOption*,
                               void**, unsigned) {
  return with_machine([&](Machine& machine) -> CUresult {
    if (library == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return give(library, machine.modules.load_library_file(path));
  });
}

CUresult cuLibraryUnload(CUlibrary library) {
  return with_machine([&](Machine& machine) { return unload(machine, library); });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return with_machine([&](Machine& machine) {
    if (kernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return give(kernel, machine.modules.kernel(library, name));
  });
}

CUresult cuLibraryGetKernelCount(unsigned* number, CUlibrary library) {
  return with_machine([&](Machine& machine) { return count(number, machine.modules.kernels(library)); });
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned room, CUlibrary library) {
  return with_machine([&](Machine& machine) { return give_all(kernels, room, machine.modules.kernels(library)); });
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return in_context([&](Machine& machine, Context& context) {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return give(module, machine.modules.module_of(library, machine.contexts.memory_of(context)));
  });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    const auto module = machine.modules.module_of(library, machine.contexts.memory_of(context));
    if (!module.is_ok()) return to_result(module.status());
    return give_global(machine, address, bytes, handle_of(module.value()), name);
  });
}
