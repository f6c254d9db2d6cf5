// cuFunc*, cuKernel* and cuOccupancy*: what a kernel is and what it takes.
#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

constexpr int kThreadsPerBlock = 1024;
constexpr int kSharedBytes = 48 << 10;

// `body(machine, function)`, for a CUfunction or a CUkernel.
template <class Handle, class Body>
CUresult on_function(Handle handle, Body&& body) {
  return with_machine([&](Machine& machine) -> CUresult {
    Function* const function = machine.modules.find(reinterpret_cast<CUfunction>(handle));
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return body(machine, *function);
  });
}

template <class Handle>
CUresult parameter_info(Handle handle, size_t index, size_t* offset, size_t* size) {
  return on_function(handle, [&](Machine&, Function& function) {
    if (offset == nullptr || index >= function.kernel->parameter_count) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const sim_parameter& parameter = function.kernel->parameters[index];
    *offset = parameter.offset;
    if (size != nullptr) *size = parameter.size;
    return CUDA_SUCCESS;
  });
}

template <class Handle>
CUresult name_of(const char** name, Handle handle) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_function(handle, [&](Machine&, Function& function) {
    *name = function.kernel->name;
    return CUDA_SUCCESS;
  });
}

CUresult attribute_of(Machine& machine, Function& function, int* value, int attribute) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  const int* const set = machine.modules.attribute(function, attribute);
  *value = set != nullptr                                            ? *set
           : attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK    ? kThreadsPerBlock
           : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS                 ? 32
           : attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION              ? 90
           : attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION           ? 90
           : attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? kSharedBytes
                                                                     : 0;
  return CUDA_SUCCESS;
}

CUresult set_attribute(Machine& machine, Function& function, int attribute, int value) {
  if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  machine.modules.set_attribute(function, attribute, value);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
  return parameter_info(function, index, offset, size);
}
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  return parameter_info(kernel, index, offset, size);
}

CUresult cuFuncGetName(const char** name, CUfunction function) { return name_of(name, function); }
CUresult cuKernelGetName(const char** name, CUkernel kernel) { return name_of(name, kernel); }

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_function(handle, [&](Machine&, Function& function) {
    *module = reinterpret_cast<CUmodule>(function.module);
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel handle) {
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_function(handle, [&](Machine&, Function& function) {
    *library = reinterpret_cast<CUlibrary>(function.module);
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_function(kernel, [&](Machine&, Function& found) {
    *function = reinterpret_cast<CUfunction>(&found);
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  return on_function(handle, [&](Machine& machine, Function& function) {
    return attribute_of(machine, function, value, attribute);
  });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle,
                              CUdevice) {
  return on_function(handle, [&](Machine& machine, Function& function) {
    return attribute_of(machine, function, value, attribute);
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return on_function(handle, [&](Machine& machine, Function& function) {
    return set_attribute(machine, function, attribute, value);
  });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice) {
  return on_function(handle, [&](Machine& machine, Function& function) {
    return set_attribute(machine, function, attribute, value);
  });
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
  return on_function(handle, [](Machine&, Function&) { return CUDA_SUCCESS; });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_function(handle, [&](Machine&, Function&) {
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncLoad(CUfunction handle) {
  return on_function(handle, [](Machine&, Function&) { return CUDA_SUCCESS; });
}

// The software device runs one block at a time, whatever its size.
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int block_size,
                                                     size_t) {
  return on_function(handle, [&](Machine&, Function&) {
    if (blocks == nullptr || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
    *blocks = block_size <= kThreadsPerBlock ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function,
                                                              int block_size, size_t shared,
                                                              unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle,
                                          CUoccupancyB2DSize, size_t, int limit) {
  return on_function(handle, [&](Machine&, Function&) {
    if (grid == nullptr || block == nullptr || limit < 0) return CUDA_ERROR_INVALID_VALUE;
    *grid = 1;
    *block = limit == 0 ? kThreadsPerBlock : std::min(limit, kThreadsPerBlock);
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                   CUoccupancyB2DSize shared_of, size_t shared,
                                                   int limit, unsigned) {
  return cuOccupancyMaxPotentialBlockSize(grid, block, function, shared_of, shared, limit);
}
