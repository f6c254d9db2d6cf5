#include "driver/cuda_symbols.hpp"

#include <string>

namespace tessera {
namespace {

template <class Function>
bool look_up(const CudaResolver& resolver, const char* name, Function& function) {
  function = reinterpret_cast<Function>(resolver(name));
  return function != nullptr;
}

Status missing(const char* name) { return Status(Code::kNotSupported, std::string("the CUDA driver has no ") + name); }

}  // namespace

// The extra macro makes cuda.h rename the names before they are quoted.
#define TESSERA_CUDA_NAME(name) TESSERA_CUDA_QUOTE(name)
#define TESSERA_CUDA_QUOTE(name) #name

Result<CudaSymbols> CudaSymbols::find(const CudaResolver& resolver) {
  CudaSymbols found;
#define TESSERA_CUDA_FIND(name)                                  \
  if (!look_up(resolver, TESSERA_CUDA_NAME(name), found.name)) { \
    return missing(TESSERA_CUDA_NAME(name));                     \
  }
  TESSERA_CUDA_REQUIRED(TESSERA_CUDA_FIND)
#undef TESSERA_CUDA_FIND
#define TESSERA_CUDA_FIND(name) (void)look_up(resolver, TESSERA_CUDA_NAME(name), found.name);
  TESSERA_CUDA_OPTIONAL(TESSERA_CUDA_FIND)
  TESSERA_CUDA_EXTRA(TESSERA_CUDA_FIND)
#undef TESSERA_CUDA_FIND
  (void)look_up(resolver, "cuMemcpyBatchAsync", found.first_copy_batch);
  (void)look_up(resolver, "cuMemcpyBatchAsync_v2", found.copy_batch);
  (void)look_up(resolver, "cuCtxRecordEvent", found.record_context);
  return found;
}

bool CudaSymbols::virtual_memory() const {
  bool all = true;
#define TESSERA_CUDA_CHECK(name) all = all && name != nullptr;
  TESSERA_CUDA_OPTIONAL(TESSERA_CUDA_CHECK)
#undef TESSERA_CUDA_CHECK
  return all;
}

}  // namespace tessera
