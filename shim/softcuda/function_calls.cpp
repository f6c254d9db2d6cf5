// cuFunc*, cuKernel* and cuOccupancy*: properties and parameters of kernels.
//
// cuFunc* take CUfunctions and cuKernel* take CUkernels; the other kind of handle gives CUDA_ERROR_INVALID_HANDLE.
// cuOccupancy* accept both, as launches do.
#include <algorithm>
#include <optional>

#include "call.hpp"
#include "kernel_launch.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

constexpr int kThreadsPerBlock = 1024;
constexpr int kSharedBytes = 48 << 10;

// Calls body(machine, function).
template <class Body>
CUresult on_function(CUfunction handle, Body&& body) {
  return with_machine([&](Machine& machine) -> CUresult {
    Function* const function = machine.modules.find(handle);
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return body(machine, *function);
  });
}

// Calls body(machine, kernel).
template <class Body>
CUresult on_kernel(CUkernel handle, Body&& body) {
  return with_machine([&](Machine& machine) -> CUresult {
    Kernel* const kernel = machine.modules.find(handle);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return body(machine, *kernel);
  });
}

// The same for attributes, which a kernel has per device.
template <class Body>
CUresult on_kernel_of(CUkernel handle, CUdevice device, Body&& body) {
  return on_kernel(handle, [&](Machine& machine, Kernel& kernel) -> CUresult {
    if (device < 0 || device >= machine.environment.devices) return CUDA_ERROR_INVALID_DEVICE;
    return body(machine, kernel);
  });
}

// Calls body() if the handle can be launched.
template <class Body>
CUresult on_launchable(CUfunction handle, Body&& body) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    Function* function = nullptr;
    SOFTCUDA_TRY(find_launchable(machine, handle, context, function));
    return body();
  });
}

// `asked` is null if the handle is of the wrong kind for the query.
CUresult parameter_info(const Machine& machine, const sim_kernel* asked, size_t index, size_t* offset, size_t* size) {
  const Parameters told = machine.environment.parameters;
  if (asked == nullptr) {
    return told == Parameters::kMixed ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  }
  const bool silent = told == Parameters::kRefused || told == Parameters::kHidden;
  if (silent || (told == Parameters::kFirst && index > 0)) return CUDA_ERROR_NOT_SUPPORTED;
  const sim_kernel& kernel = *asked;
  if (offset == nullptr || index >= kernel.parameter_count) return CUDA_ERROR_INVALID_VALUE;
  const sim_parameter& parameter = kernel.parameters[index];
  *offset = parameter.offset;
  if (size != nullptr) *size = parameter.size;
  return CUDA_SUCCESS;
}

bool is_attribute(int attribute) { return attribute >= 0 && attribute < CU_FUNC_ATTRIBUTE_MAX; }

int value_of(int attribute, std::optional<int> set) {
  if (set) return *set;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return kThreadsPerBlock;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: return 32;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: return 90;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: return 90;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return kSharedBytes;
    default: return 0;
  }
}

}  // namespace

// ---- functions ---------------------------------------------------------------------------------

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* size) {
  return with_machine([&](Machine& machine) {
    const Function* const function = machine.modules.find(handle);
    return parameter_info(machine, function == nullptr ? nullptr : function->kernel, index, offset, size);
  });
}

CUresult cuFuncGetName(const char** name, CUfunction handle) {
  if (name == nullptr || handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_function(handle, [&](Machine&, Function& function) {
    *name = function.kernel->name;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_function(handle, [&](Machine&, Function& function) {
    *module = handle_of(function.module);
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  return on_function(handle, [&](Machine& machine, Function& function) {
    if (value == nullptr || !is_attribute(attribute)) return CUDA_ERROR_INVALID_VALUE;
    *value = value_of(attribute, machine.modules.attribute(function, attribute));
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return on_function(handle, [&](Machine& machine, Function& function) {
    if (!is_attribute(attribute)) return CUDA_ERROR_INVALID_VALUE;
    machine.modules.set_attribute(function, attribute, value);
    return CUDA_SUCCESS;
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

// ---- kernels -----------------------------------------------------------------------------------

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* size) {
  return with_machine([&](Machine& machine) {
    const Kernel* const kernel = machine.modules.find(handle);
    return parameter_info(machine, kernel == nullptr ? nullptr : kernel->kernel, index, offset, size);
  });
}

CUresult cuKernelGetName(const char** name, CUkernel handle) {
  if (name == nullptr || handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_kernel(handle, [&](Machine&, Kernel& kernel) {
    *name = kernel.kernel->name;
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel handle) {
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_kernel(handle, [&](Machine&, Kernel& kernel) {
    *library = handle_of(kernel.library);
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel handle) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    const auto found = machine.modules.function_of(handle, machine.contexts.memory_of(context));
    if (!found.is_ok()) return to_result(found.status());
    *function = handle_of(found.value());
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice device) {
  return on_kernel_of(handle, device, [&](Machine& machine, Kernel& kernel) {
    if (value == nullptr || !is_attribute(attribute)) return CUDA_ERROR_INVALID_VALUE;
    *value = value_of(attribute, machine.modules.attribute(kernel, device, attribute));
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device) {
  return on_kernel_of(handle, device, [&](Machine& machine, Kernel& kernel) {
    if (!is_attribute(attribute)) return CUDA_ERROR_INVALID_VALUE;
    machine.modules.set_attribute(kernel, device, attribute, value);
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache, CUdevice device) {
  return on_kernel_of(handle, device, [](Machine&, Kernel&) { return CUDA_SUCCESS; });
}

// ---- occupancy ---------------------------------------------------------------------------------

// The software device runs one block at a time, whatever the block size.
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int block_size, size_t) {
  return on_launchable(handle, [&] {
    if (blocks == nullptr || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
    *blocks = block_size <= kThreadsPerBlock ? kBlocksPerMultiprocessor : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int block_size,
                                                              size_t shared, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize, size_t,
                                          int limit) {
  return on_launchable(handle, [&] {
    if (grid == nullptr || block == nullptr || limit < 0) return CUDA_ERROR_INVALID_VALUE;
    *grid = 1;
    *block = limit == 0 ? kThreadsPerBlock : std::min(limit, kThreadsPerBlock);
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                   CUoccupancyB2DSize shared_of, size_t shared, int limit, unsigned) {
  return cuOccupancyMaxPotentialBlockSize(grid, block, function, shared_of, shared, limit);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks, int block_size) {
  return on_launchable(handle, [&] {
    if (bytes == nullptr || blocks <= 0 || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
    *bytes = block_size <= kThreadsPerBlock ? static_cast<size_t>(kSharedBytes / blocks) : 0;
    return CUDA_SUCCESS;
  });
}

// Only clusters of one block are supported.
CUresult cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction handle, const CUlaunchConfig* config) {
  return on_launchable(handle, [&] {
    if (blocks == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *blocks = 1;
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
  return on_launchable(handle, [&] {
    if (clusters == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    unsigned size = 1;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const CUlaunchAttribute& attribute = config->attrs[i];
      if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
      const auto& shape = attribute.value.clusterDim;
      size = shape.x * shape.y * shape.z;
    }
    *clusters = size == 1 ? 1 : 0;
    return CUDA_SUCCESS;
  });
}
