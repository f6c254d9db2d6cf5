// One kernel launch, checked: which kernel, over which grid, with which packed parameters.
//
// Why apart from the entry points: a launch is queued at once, captured into a graph, or written
// into a graph by hand, and all three must be refused for the same reasons.
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

// `handle` is a CUfunction, or a CUkernel cast to CUfunction, whose function in `context` is meant.
// Errors: CUDA_ERROR_INVALID_HANDLE for anything else.
CUresult find_launchable(Machine& machine, CUfunction handle, Context& context, Function*& function);

// Errors: CUDA_ERROR_INVALID_VALUE for a shape or a parameter block that no device takes.
CUresult check_launch(const Function& function, const KernelShape& shape);

// Writes all of `packed`, the kernel's parameter block, from the one list that is given.
CUresult pack_parameters(const sim_kernel& kernel, void** parameters, void** extra,
                         std::span<std::byte> packed);

}  // namespace tessera::softcuda
