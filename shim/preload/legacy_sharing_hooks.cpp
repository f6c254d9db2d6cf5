// cuIpc*MemHandle: managed blocks that other processes open, and blocks of other processes.
//
// A handle of the driver's goes to the driver, as when the other process does not run under the preload library.
#include <cstring>

#include "exposure.hpp"
#include "mapped_memory.hpp"
#include "opened_blocks.hpp"
#include "shared_blocks.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

template <class Function>
CUresult open(Function TrueDriver::*function, CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  SharedBlock block;
  std::memcpy(&block, &handle, sizeof(block));
  if (block.mark != kSharedMark) return call_true(function, address, handle, flags);
  if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return open_block(block, OpenedBy::kHandle, address);
}

}  // namespace

TESSERA_HOOK cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  if (!served(address)) return call_true(&TrueDriver::cuIpcGetMemHandle, handle, address);
  if (is_mapped(address)) return CUDA_ERROR_INVALID_VALUE;  // of cuMemCreate, which has handles of its own
  return handle != nullptr ? share_block(address, *handle, "cuIpcGetMemHandle") : CUDA_ERROR_INVALID_VALUE;
}

TESSERA_HOOK cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  return open(&TrueDriver::cuIpcOpenMemHandle, address, handle, flags);
}

TESSERA_HOOK cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  return open(&TrueDriver::cuIpcOpenMemHandle_v2, address, handle, flags);
}

TESSERA_HOOK cuIpcCloseMemHandle(CUdeviceptr address) {
  CUresult closed = CUDA_SUCCESS;
  if (close_block(address, OpenedBy::kHandle, closed)) return closed;
  return call_true(&TrueDriver::cuIpcCloseMemHandle, address);
}
