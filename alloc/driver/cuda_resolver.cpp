#include "driver/cuda_resolver.hpp"

#include <dlfcn.h>

namespace tessera {

Result<CudaResolver> open_cuda_library(const char* file) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    return Status(Code::kNotSupported, std::string("no CUDA driver: ") + (reason != nullptr ? reason : file));
  }
  return CudaResolver([library](const char* name) { return dlsym(library, name); });
}

}  // namespace tessera
