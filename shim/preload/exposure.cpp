#include "exposure.hpp"

#include "capture.hpp"
#include "green_contexts.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"

namespace tessera::preload {

bool served(CUdeviceptr address) { return managed(address) && running() != nullptr; }

CUresult expose(CUdeviceptr address, const char* reason) {
  if (!served(address)) return CUDA_SUCCESS;
  const Entry entry;
  if (entry.nested()) return CUDA_SUCCESS;
  const InPrimary in_primary;
  return cuda_result_said(tessera_expose(running(), address, reason), reason);
}

CUresult expose_on(CUstream stream, CUdeviceptr address, const char* reason) {
  if (!served(address)) return CUDA_SUCCESS;
  return capturing(stream) ? CUDA_SUCCESS : expose(address, reason);
}

}  // namespace tessera::preload
