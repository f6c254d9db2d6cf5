// cuIpc*: legacy handles for sharing memory with other processes.
//
// Handles exist only for the base address of cuMemAlloc memory: the driver refuses virtual memory management and pools.
// Opening a handle is not supported, since every process has its own machine.
#include <cstring>

#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto range = machine.ranges.find(Address(address));
    if (handle == nullptr || !range || !range->legacy_shareable()) return CUDA_ERROR_INVALID_VALUE;
    std::memset(handle, 0, sizeof(*handle));
    std::memcpy(handle, &range->id, sizeof(range->id));
    return CUDA_SUCCESS;
  });
}
