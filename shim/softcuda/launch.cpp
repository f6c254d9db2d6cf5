// cuLaunchKernel and related calls: parameters are packed for the kernel, then queued or captured.
//
// A launch takes a CUfunction or a CUkernel. A CUkernel runs in the stream's context; on a default stream, in the
// current context.
#include <array>

#include "call.hpp"
#include "capture.hpp"
#include "kernel_launch.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

Context& context_of(Machine& machine, CUstream stream, Context& current) {
  const auto known = machine.streams.find(stream);
  return known ? *known->context : current;
}

// A context has one piece for all launches; the first launch allocates it.
CUresult take_local_memory(Machine& machine, Context& context) {
  const Bytes bytes = machine.environment.local_memory;
  if (!bytes) return CUDA_SUCCESS;
  const MutexLock lock(context.memory_mutex);
  if (context.local_memory != FrameId()) return CUDA_SUCCESS;
  const auto held = machine.memory.hold(context.device, bytes);
  if (held.is_ok()) context.local_memory = held.value();
  return to_result(held.status());
}

bool is_cooperative(const CUlaunchConfig& config) {
  for (unsigned i = 0; config.attrs != nullptr && i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute.value.cooperative != 0) return true;
  }
  return false;
}

CUresult launch(CUfunction handle, const KernelShape& shape, CUstream stream, void** parameters, void** extra,
                bool cooperative = false) {
  return in_context([&](Machine& machine, Context& current) -> CUresult {
    const auto on = machine.streams.resolve(stream);
    if (!on.is_ok()) return to_result(on.status());
    Function* function = machine.modules.find(handle);
    if (function == nullptr) {
      Context& context = context_of(machine, stream, current);
      SOFTCUDA_TRY(find_launchable(machine, handle, context, function));
    }
    SOFTCUDA_TRY(check_launch(*function, shape));
    if (cooperative) SOFTCUDA_TRY(check_cooperative(machine, shape));
    const sim_kernel& kernel = *function->kernel;
    alignas(16) std::array<std::byte, kMostParameterBytes> buffer;
    const std::span<std::byte> packed(buffer.data(), kernel.parameter_bytes);
    SOFTCUDA_TRY(pack_parameters(kernel, parameters, extra, packed));
    const auto captured = machine.captures.capture(on.value(), [&] {
      return KernelWork{
          {handle_of(function), nullptr, nullptr}, &kernel, shape, {packed.begin(), packed.end()}, extra != nullptr};
    });
    if (captured) return *captured;
    SOFTCUDA_TRY(take_local_memory(machine, *function->module->context));
    return to_result(machine.driver.launch({.kernel = &kernel,
                                            .grid = shape.grid,
                                            .block = shape.block,
                                            .shared_bytes = shape.shared,
                                            .parameters = packed},
                                           on.value()));
  });
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** parameters,
                        void** extra) {
  return launch(function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, stream, parameters, extra);
}

// Blocks run one after another, so on a device of several multiprocessors only a kernel without grid-wide barriers
// works.
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                   CUstream stream, void** parameters) {
  return launch(function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, stream, parameters, nullptr,
                true);
}

// Other launch attributes are hints about clusters, priorities and memory; none changes the results.
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const KernelShape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                          {config->blockDimX, config->blockDimY, config->blockDimZ},
                          config->sharedMemBytes};
  return launch(function, shape, config->hStream, parameters, extra, is_cooperative(*config));
}
