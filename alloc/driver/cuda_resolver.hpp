// Finds entry points of the CUDA driver: a function from exported name to address.
//
// Why: under an interposer the names resolve to its hooks, so it passes its own way of finding the real functions;
// everyone else uses the machine's libcuda.so.1.
//
// Thread safety: a resolver may be called from any thread.
#pragma once

#include <functional>

#include "base/status.hpp"

namespace tessera {

// Null when the driver has no such name.
using CudaResolver = std::function<void*(const char* exported_name)>;

// Opens the driver's library and never closes it: a driver does not survive being unloaded. Errors: kNotSupported with
// the loader's reason.
Result<CudaResolver> open_cuda_library(const char* file = "libcuda.so.1");

}  // namespace tessera
