#include "kernel_launch.hpp"

#include <cstring>

#include "call.hpp"

namespace tessera::softcuda {
namespace {

struct Extra {
  const void* buffer = nullptr;
  std::size_t bytes = 0;
};

// CUDA's list of (key, value) pairs, terminated by CU_LAUNCH_PARAM_END.
CUresult read_extra(void** extra, Extra& found) {
  for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (i > 8 || extra[i + 1] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      found.buffer = extra[i + 1];
    } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      found.bytes = *static_cast<std::size_t*>(extra[i + 1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

bool launchable(Dim3 grid, Dim3 block) {
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  return grid.x != 0 && grid.y != 0 && grid.z != 0 && grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535 &&
         threads != 0 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 && threads <= 1024;
}

}  // namespace

CUresult find_launchable(Machine& machine, CUfunction handle, Context& context, Function*& function) {
  const auto found = machine.modules.launchable(handle, machine.contexts.memory_of(context));
  if (!found.is_ok()) return to_result(found.status());
  function = found.value();
  return CUDA_SUCCESS;
}

CUresult check_launch(const Function& function, const KernelShape& shape) {
  if (!launchable(shape.grid, shape.block)) return CUDA_ERROR_INVALID_VALUE;
  return function.kernel->parameter_bytes <= kMostParameterBytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_cooperative(const Machine& machine, const KernelShape& shape) {
  const std::uint64_t blocks = std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  return blocks <= machine.environment.multiprocessors * kBlocksPerMultiprocessor
             ? CUDA_SUCCESS
             : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

CUresult pack_parameters(const sim_kernel& kernel, void** parameters, void** extra, std::span<std::byte> packed) {
  if (parameters != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (kernel.parameter_count == 0) return CUDA_SUCCESS;
  if (extra != nullptr) {
    Extra found;
    SOFTCUDA_TRY(read_extra(extra, found));
    // The caller may pad its buffer at the end, but may not omit a parameter.
    if (found.buffer == nullptr || found.bytes < packed.size()) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(packed.data(), found.buffer, packed.size());
    return CUDA_SUCCESS;
  }
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (std::uint32_t i = 0; i < kernel.parameter_count; ++i) {
    if (parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(packed.data() + kernel.parameters[i].offset, parameters[i], kernel.parameters[i].size);
  }
  return CUDA_SUCCESS;
}

}  // namespace tessera::softcuda
