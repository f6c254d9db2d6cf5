// cuLaunch*, cuParamSet* and cuFuncSetBlockShape: launches as before CUDA 4, with one call per parameter.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

// The state for the next launch of a function.
struct Prepared {
  unsigned block[3] = {1, 1, 1};
  unsigned shared = 0;
  std::vector<std::byte> parameters;
};

std::mutex prepared_lock;

Prepared& prepared(CUfunction function) {
  static auto& all = *new std::map<CUfunction, Prepared>;
  return all[function];
}

template <class Body>
CUresult prepare(CUfunction handle, Body body) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const Function* const function = machine.modules.find(handle);
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const std::lock_guard lock(prepared_lock);
    return body(*function->kernel, prepared(handle));
  });
}

CUresult set_parameter(CUfunction handle, int offset, const void* value, unsigned bytes) {
  if (offset < 0 || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto begin = static_cast<std::size_t>(offset);
  return prepare(handle, [&](const sim_kernel& kernel, Prepared& next) {
    if (begin + bytes > kernel.parameter_bytes) return CUDA_ERROR_INVALID_VALUE;
    next.parameters.resize(kernel.parameter_bytes);
    std::memcpy(next.parameters.data() + begin, value, bytes);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuFuncSetBlockShape(CUfunction handle, int x, int y, int z) {
  if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
  return prepare(handle, [&](const sim_kernel&, Prepared& next) {
    const int shape[] = {x, y, z};
    std::transform(shape, shape + 3, next.block, [](int n) { return static_cast<unsigned>(n); });
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncSetSharedSize(CUfunction handle, unsigned bytes) {
  return prepare(handle, [&](const sim_kernel&, Prepared& next) {
    next.shared = bytes;
    return CUDA_SUCCESS;
  });
}

// The kernel determines the size; a program may pass at most this much.
CUresult cuParamSetSize(CUfunction handle, unsigned bytes) {
  return prepare(handle, [&](const sim_kernel& kernel, Prepared&) {
    return bytes <= kernel.parameter_bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuParamSeti(CUfunction handle, int offset, unsigned value) {
  return set_parameter(handle, offset, &value, sizeof(value));
}
CUresult cuParamSetf(CUfunction handle, int offset, float value) {
  return set_parameter(handle, offset, &value, sizeof(value));
}
CUresult cuParamSetv(CUfunction handle, int offset, void* value, unsigned bytes) {
  return set_parameter(handle, offset, value, bytes);
}

CUresult cuLaunchGridAsync(CUfunction handle, int width, int height, CUstream stream) {
  if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
  Prepared next;
  const CUresult known = prepare(handle, [&](const sim_kernel& kernel, Prepared& set) {
    set.parameters.resize(kernel.parameter_bytes);
    next = set;
    return CUDA_SUCCESS;
  });
  if (known != CUDA_SUCCESS) return known;
  std::size_t bytes = next.parameters.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, next.parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  return cuLaunchKernel(handle, static_cast<unsigned>(width), static_cast<unsigned>(height), 1, next.block[0],
                        next.block[1], next.block[2], next.shared, stream, nullptr, extra);
}
CUresult cuLaunchGrid(CUfunction handle, int width, int height) {
  return cuLaunchGridAsync(handle, width, height, nullptr);
}
CUresult cuLaunch(CUfunction handle) { return cuLaunchGrid(handle, 1, 1); }
