// Launches: every block that a parameter points into is in device memory before the kernel starts. parameter_words.hpp
// decides which words of the parameters may be addresses.
#include "capture.hpp"
#include "cuda_api.hpp"
#include "driver_room.hpp"
#include "late_copies.hpp"
#include "managed_use.hpp"
#include "parameter_words.hpp"
#include "torch_listener.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

Launched launched_as(unsigned grid_x, unsigned grid_y, unsigned grid_z) {
  return grid_x == 1 && grid_y == 1 && grid_z == 1 ? Launched::kOneBlock : Launched::kKernel;
}

// The driver ran out of memory, for code or for local memory. A separate function, so that launch() does not pay for
// it.
template <class Function, class... Args>
[[gnu::noinline, gnu::cold]] CUresult launch_again(const WordSpans& words, Launched launched, CUstream stream,
                                                   const char* name, const GivenParameters& given,
                                                   Function TrueDriver::*call, Args... args) {
  return again_with_driver_room({.stream = stream}, [&](bool& ours) {
    const ManagedUse use(words, stream, name, launched, &given);
    ours = use.status() != CUDA_SUCCESS;
    return ours ? use.status() : call_true(call, args...);
  });
}

template <class Function, class... Args>
[[gnu::always_inline]] inline CUresult launch(Launched launched, Grid grid, CUfunction function, void** parameters,
                                              void** extra, CUstream stream, Function TrueDriver::*call, Args... args) {
  if (running() == nullptr) return call_true(call, args...);
  if (torch_listener_is_due()) [[unlikely]]
    attach_torch_listener(stream);
  FoundWords found;
  const char* name = nullptr;
  const bool known = read_parameters(function, parameters, extra, grid, found, name);
  if (!known && !capturing(stream)) {
    const CUresult held = hold_everything("cuLaunchKernel");
    if (held != CUDA_SUCCESS) return held;
  }
  const WordSpans words = found.words();
  if (words.empty() && !has_heap()) return call_true(call, args...);
  if (any_late_copies() && !capturing(stream)) late_copies().settle(words);
  const GivenParameters given{function, parameters, extra};
  CUresult result = CUDA_SUCCESS;
  {
    const ManagedUse use(words, stream, name, launched, &given);
    if (use.status() != CUDA_SUCCESS) return use.status();
    result = call_true(call, args...);
  }
  if (result != CUDA_ERROR_OUT_OF_MEMORY) [[likely]]
    return result;
  return launch_again(words, launched, stream, name, given, call, args...);
}

}  // namespace

TESSERA_HOOK_PTSZ(cuLaunchKernel,
                  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream given, void** parameters,
                   void** extra),
                  {
                    return launch(launched_as(grid_x, grid_y, grid_z), {grid_x, grid_y}, function, parameters, extra,
                                  stream, True, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                  shared_bytes, given, parameters, extra);
                  })

TESSERA_HOOK_PTSZ(cuLaunchCooperativeKernel,
                  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream given, void** parameters),
                  {
                    return launch(launched_as(grid_x, grid_y, grid_z), {grid_x, grid_y}, function, parameters, nullptr,
                                  stream, True, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                  shared_bytes, given, parameters);
                  })

TESSERA_HOOK cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  constexpr auto kTrue = &TrueDriver::cuLaunchKernelEx;
  if (config == nullptr) return call_true(kTrue, config, function, parameters, extra);
  const CUstream stream = config->hStream != nullptr ? config->hStream : CU_STREAM_LEGACY;
  const Launched launched = launched_as(config->gridDimX, config->gridDimY, config->gridDimZ);
  return launch(launched, {config->gridDimX, config->gridDimY}, function, parameters, extra, stream, kTrue, config,
                function, parameters, extra);
}

TESSERA_HOOK cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  constexpr auto kTrue = &TrueDriver::cuLaunchKernelEx_ptsz;
  if (config == nullptr) return call_true(kTrue, config, function, parameters, extra);
  const CUstream stream = config->hStream != nullptr ? config->hStream : CU_STREAM_PER_THREAD;
  const Launched launched = launched_as(config->gridDimX, config->gridDimY, config->gridDimZ);
  return launch(launched, {config->gridDimX, config->gridDimY}, function, parameters, extra, stream, kTrue, config,
                function, parameters, extra);
}
