// A checked kernel launch: which kernel, over which grid, with which packed parameters.
//
// Why separate from the entry points: a launch is queued directly, captured into a graph, or added to a graph
// explicitly, and all three must fail for the same reasons.
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cuda_api.hpp"
#include "driver/driver.hpp"
#include "modules.hpp"

namespace tessera::softcuda {

class Machine;

inline constexpr std::size_t kMostParameterBytes = 32764;  // CUDA's own limit

struct KernelShape {
  Dim3 grid;
  Dim3 block;
  unsigned shared = 0;
};

// `handle` is a CUfunction, or a CUkernel cast to CUfunction, which stands for its function in `context`. Errors:
// CUDA_ERROR_INVALID_HANDLE for anything else.
CUresult find_launchable(Machine& machine, CUfunction handle, Context& context, Function*& function);

// Errors: CUDA_ERROR_INVALID_VALUE for a shape or a parameter block that no device accepts.
CUresult check_launch(const Function& function, const KernelShape& shape);

// As device attributes and occupancy queries report it: one block runs at a time, whatever its size.
inline constexpr int kBlocksPerMultiprocessor = 1;
// Errors: CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE if the device cannot run all blocks at the same time.
CUresult check_cooperative(const Machine& machine, const KernelShape& shape);

// Fills `packed`, the kernel's parameter block, from whichever list is given.
CUresult pack_parameters(const sim_kernel& kernel, void** parameters, void** extra, std::span<std::byte> packed);

}  // namespace tessera::softcuda
