// Launches: every block that a parameter points into is in device memory before the kernel starts.
// Which words of the parameters could be addresses is in parameter_words.hpp.
#include "capture.hpp"
#include "cuda_api.hpp"
#include "managed_use.hpp"
#include "parameter_words.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

Launched launched_as(unsigned grid_x, unsigned grid_y, unsigned grid_z) {
  return grid_x == 1 && grid_y == 1 && grid_z == 1 ? Launched::kOneBlock : Launched::kKernel;
}

template <class Call>
CUresult launch(Launched launched, CUfunction function, void** parameters, void** extra, CUstream stream, Call call) {
  if (running() == nullptr) return call();
  FoundWords found;
  const char* name = nullptr;
  const bool known = read_parameters(function, parameters, extra, found, name);
  if (!known && !capturing(stream)) {
    const CUresult held = hold_everything("cuLaunchKernel");
    if (held != CUDA_SUCCESS) return held;
  }
  const WordSpans words = found.words();
  if (words.empty() && !has_heap()) return call();
  const ManagedUse use(words, stream, name, launched);
  return use.status() == CUDA_SUCCESS ? call() : use.status();
}

}  // namespace

TESSERA_HOOK_PTSZ(cuLaunchKernel,
                  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   CUstream given, void** parameters, void** extra), {
  return launch(launched_as(grid_x, grid_y, grid_z), function, parameters, extra, stream, [&] {
    return call_true(True, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                     shared_bytes, given, parameters, extra);
  });
})

TESSERA_HOOK_PTSZ(cuLaunchCooperativeKernel,
                  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   CUstream given, void** parameters), {
  return launch(launched_as(grid_x, grid_y, grid_z), function, parameters, nullptr, stream, [&] {
    return call_true(True, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                     shared_bytes, given, parameters);
  });
})

TESSERA_HOOK cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                              void** parameters, void** extra) {
  const auto call = [&] {
    return call_true(&TrueDriver::cuLaunchKernelEx, config, function, parameters, extra);
  };
  if (config == nullptr) return call();
  const CUstream stream = config->hStream != nullptr ? config->hStream : CU_STREAM_LEGACY;
  const Launched launched = launched_as(config->gridDimX, config->gridDimY, config->gridDimZ);
  return launch(launched, function, parameters, extra, stream, call);
}

TESSERA_HOOK cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function,
                                   void** parameters, void** extra) {
  const auto call = [&] {
    return call_true(&TrueDriver::cuLaunchKernelEx_ptsz, config, function, parameters, extra);
  };
  if (config == nullptr) return call();
  const CUstream stream = config->hStream != nullptr ? config->hStream : CU_STREAM_PER_THREAD;
  const Launched launched = launched_as(config->gridDimX, config->gridDimY, config->gridDimZ);
  return launch(launched, function, parameters, extra, stream, call);
}
