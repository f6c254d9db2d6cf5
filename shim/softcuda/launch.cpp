// cuLaunchKernel and its kin: parameters packed as the kernel wants them, then queued.
#include <array>
#include <cstring>
#include <span>

#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

constexpr std::size_t kMostParameterBytes = 32764;  // CUDA's own limit

struct Extra {
  const void* buffer = nullptr;
  std::size_t bytes = 0;
};

// CUDA's list of (key, value) pairs that ends with CU_LAUNCH_PARAM_END.
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

CUresult pack(const sim_kernel& kernel, void** parameters, void** extra, std::span<std::byte> packed) {
  if (parameters != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (kernel.parameter_count == 0) return CUDA_SUCCESS;
  if (extra != nullptr) {
    Extra found;
    SOFTCUDA_TRY(read_extra(extra, found));
    // The caller may pad its buffer at the end, but may not leave a parameter out.
    if (found.buffer == nullptr || found.bytes < packed.size()) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(packed.data(), found.buffer, packed.size());
    return CUDA_SUCCESS;
  }
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (std::uint32_t i = 0; i < kernel.parameter_count; ++i) {
    if (parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(packed.data() + kernel.parameters[i].offset, parameters[i],
                kernel.parameters[i].size);
  }
  return CUDA_SUCCESS;
}

bool launchable(Dim3 grid, Dim3 block) {
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  return grid.x != 0 && grid.y != 0 && grid.z != 0 && grid.x <= 0x7fffffff && grid.y <= 65535 &&
         grid.z <= 65535 && threads != 0 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
         threads <= 1024;
}

CUresult launch(CUfunction handle, Dim3 grid, Dim3 block, unsigned shared, CUstream stream,
                void** parameters, void** extra) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const Function* const function = machine.modules.find(handle);
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const auto on = machine.streams.resolve(stream);
    if (!on.is_ok()) return to_result(on.status());
    if (!launchable(grid, block)) return CUDA_ERROR_INVALID_VALUE;
    const sim_kernel& kernel = *function->kernel;
    if (kernel.parameter_bytes > kMostParameterBytes) return CUDA_ERROR_INVALID_VALUE;
    alignas(16) std::array<std::byte, kMostParameterBytes> buffer;
    const std::span<std::byte> packed(buffer.data(), kernel.parameter_bytes);
    SOFTCUDA_TRY(pack(kernel, parameters, extra, packed));
    return to_result(machine.driver.launch({.kernel = &kernel,
                                            .grid = grid,
                                            .block = block,
                                            .shared_bytes = shared,
                                            .parameters = packed},
                                           on.value()));
  });
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void** parameters, void** extra) {
  return launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream,
                parameters, extra);
}

// Blocks run one after another, so all of a cooperative grid is never resident at once; a kernel that
// needs no barrier across the grid runs as any other.
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream stream,
                                   void** parameters) {
  return launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream,
                parameters, nullptr);
}

// Launch attributes are hints about clusters, priorities and memory; none changes what is computed.
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return launch(function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes,
                config->hStream, parameters, extra);
}
