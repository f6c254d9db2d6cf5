// Launches: every block that a parameter points into is in device memory before the kernel starts.
//
// Each word of the parameters is compared with the managed range, at every launch; words inside it go
// to Tessera, which knows the live blocks. A parameter of one word is one word; in a larger one, and
// in packed parameters, a word may begin at any byte.
#include <span>

#include "cuda_api.hpp"
#include "found_words.hpp"
#include "kernel_layouts.hpp"
#include "managed_use.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

// The packed parameters in `extra`, if that is how they come.
std::span<const char> packed_parameters(void** extra) {
  const char* begin = nullptr;
  std::size_t bytes = 0;
  for (; extra != nullptr && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) begin = static_cast<const char*>(extra[1]);
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<std::size_t*>(extra[1]);
    if (extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER && extra[0] != CU_LAUNCH_PARAM_BUFFER_SIZE) {
      break;
    }
  }
  return begin != nullptr ? std::span(begin, bytes) : std::span<const char>();
}

template <class Call>
CUresult launch(CUfunction function, void** parameters, void** extra, CUstream stream, Call call) {
  if (running() == nullptr) return call();
  FoundWords found;
  const std::span<const char> packed = packed_parameters(extra);
  found.scan(packed.data(), packed.size());
  const char* name = nullptr;
  const auto look = [&](const char* function_name, std::span<const ParameterPlace> places) {
    name = function_name;
    if (parameters == nullptr) return;
    for (const ParameterPlace& place : places) {
      if (place.bytes == sizeof(CUdeviceptr)) {
        found.look_at(parameters[place.index]);
      } else {
        found.scan(parameters[place.index], place.bytes);
      }
    }
  };
  const CUresult known = kernel_layouts().visit(function, look);
  if (known != CUDA_SUCCESS) return known;
  if (found.words().empty()) return call();
  const ManagedUse use(found.words(), stream, name);
  return use.status() == CUDA_SUCCESS ? call() : use.status();
}

}  // namespace

TESSERA_HOOK_PTSZ(cuLaunchKernel,
                  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   CUstream given, void** parameters, void** extra), {
  return launch(function, parameters, extra, stream, [&] {
    return call_true(True, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                     shared_bytes, given, parameters, extra);
  });
})

TESSERA_HOOK_PTSZ(cuLaunchCooperativeKernel,
                  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   CUstream given, void** parameters), {
  return launch(function, parameters, nullptr, stream, [&] {
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
  return launch(function, parameters, extra, stream, call);
}

TESSERA_HOOK cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function,
                                   void** parameters, void** extra) {
  const auto call = [&] {
    return call_true(&TrueDriver::cuLaunchKernelEx_ptsz, config, function, parameters, extra);
  };
  if (config == nullptr) return call();
  const CUstream stream = config->hStream != nullptr ? config->hStream : CU_STREAM_PER_THREAD;
  return launch(function, parameters, extra, stream, call);
}
