#include "future_calls.hpp"

#include <cstddef>

#include "cuda_api.hpp"
#include "environment.hpp"

namespace tessera::softcuda {
namespace {

// Same layout as in tests/programs/future_calls.c.
struct Fill {
  CUdeviceptr to;
  std::size_t count;
  unsigned value;
};

CUresult fill_line(const Fill* fill, CUstream stream) {
  return cuMemsetD32Async(fill->to, fill->value, fill->count, stream);
}

CUresult fill_with_flags(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream, unsigned flags) {
  return flags != 0 ? CUDA_ERROR_INVALID_VALUE : cuMemsetD32Async(to, value, count, stream);
}

// Takes arguments of each kind, and no address.
CUresult sum_up(double* sum, int a, double b, long c, float d, long e, long f, long g, long h) {
  *sum = static_cast<double>(a) + b + static_cast<double>(c) + static_cast<double>(d) + static_cast<double>(e) +
         static_cast<double>(f) + static_cast<double>(g) + static_cast<double>(h);
  return CUDA_SUCCESS;
}

}  // namespace

bool is_of_future() {
  static const bool future = [] {
    const Result<Environment> environment = read_environment();
    return environment.is_ok() && environment.value().future;
  }();
  return future;
}

void* find_future_call(std::string_view name, int version) {
  if (version <= TESSERA_NEWEST_CUDA) return nullptr;
  if (name == "cuSoftwareFillAsync") return reinterpret_cast<void*>(&fill_line);
  if (name == "cuMemsetD32Async") return reinterpret_cast<void*>(&fill_with_flags);
  if (name == "cuSoftwareSumUp") return reinterpret_cast<void*>(&sum_up);
  return nullptr;
}

}  // namespace tessera::softcuda
