// Calls that share an address outside our control, and calls that would split managed memory.
//
// Memory that the driver can share in place is pinned there and then shared. What it could share only for its own kind
// of allocation is refused with the driver's own error; legacy handles are handled in legacy_sharing_hooks.cpp.
#include <cstring>

#include "cuda_api.hpp"
#include "driver_room.hpp"
#include "exposure.hpp"
#include "host_blocks.hpp"
#include "outside_memory.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

// The driver applies it to the whole chunk, in which other blocks are then synchronous too, but do not report it.
CUresult set_of_host_block(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  tessera_host_info block;
  if (!find_host_block(address, block)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult set = call_true(&TrueDriver::cuPointerSetAttribute, value, attribute, address);
  if (set == CUDA_SUCCESS && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
    unsigned wanted = 0;
    std::memcpy(&wanted, value, sizeof(wanted));
    set_host_block_synchronous(block, wanted != 0);
  }
  return set;
}

}  // namespace

TESSERA_HOOK cuMemGetHandleForAddressRange(void* handle, CUdeviceptr address, std::size_t bytes,
                                           CUmemRangeHandleType type, unsigned long long flags) {
  KeptBlocks kept("cuMemGetHandleForAddressRange");
  const CUresult pinned = kept.add(address);
  if (pinned != CUDA_SUCCESS) return pinned;
  return kept.after(call_true(&TrueDriver::cuMemGetHandleForAddressRange, handle, address, bytes, type, flags));
}

TESSERA_HOOK cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  if (in_host_blocks(address)) return set_of_host_block(value, attribute, address);
  KeptBlocks kept("cuPointerSetAttribute");
  const CUresult pinned = kept.add(address);
  if (pinned != CUDA_SUCCESS) return pinned;
  return kept.after(call_true(&TrueDriver::cuPointerSetAttribute, value, attribute, address));
}

// ---- the program's own virtual memory management -----------------------------------------------
// To the program a block came from cuMemAlloc, for which all of these return CUDA_ERROR_INVALID_VALUE.

TESSERA_HOOK cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  if (served(reinterpret_cast<CUdeviceptr>(address))) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = call_true(&TrueDriver::cuMemRetainAllocationHandle, handle, address);
  if (result == CUDA_SUCCESS) outside_memory().retained(*handle);
  return result;
}

TESSERA_HOOK cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                      unsigned long long flags) {
  if (served(address)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = call_with_room({}, &TrueDriver::cuMemMap, address, bytes, offset, handle, flags);
  if (result == CUDA_SUCCESS) outside_memory().mapped(address, bytes, handle, {"cuMemMap", TESSERA_CALLER});
  return result;
}

TESSERA_HOOK cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  if (served(address)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = call_true(&TrueDriver::cuMemUnmap, address, bytes);
  if (result == CUDA_SUCCESS) outside_memory().unmapped(address, bytes);
  return result;
}

TESSERA_HOOK cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count) {
  if (served(address)) return CUDA_ERROR_INVALID_VALUE;
  return call_true(&TrueDriver::cuMemSetAccess, address, bytes, access, count);
}

TESSERA_HOOK cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  if (served(address)) return CUDA_ERROR_INVALID_VALUE;
  return call_true(&TrueDriver::cuMemAddressFree, address, bytes);
}

TESSERA_HOOK cuMulticastBindAddr(CUmemGenericAllocationHandle multicast, std::size_t offset, CUdeviceptr address,
                                 std::size_t bytes, unsigned long long flags) {
  if (served(address)) return CUDA_ERROR_INVALID_VALUE;
  return call_true(&TrueDriver::cuMulticastBindAddr, multicast, offset, address, bytes, flags);
}

TESSERA_HOOK cuMulticastBindAddr_v2(CUmemGenericAllocationHandle multicast, CUdevice device, std::size_t offset,
                                    CUdeviceptr address, std::size_t bytes, unsigned long long flags) {
  if (served(address)) return CUDA_ERROR_INVALID_VALUE;
  return call_true(&TrueDriver::cuMulticastBindAddr_v2, multicast, device, offset, address, bytes, flags);
}

TESSERA_HOOK cuLogicalEndpointBindAddr(CUlogicalEndpointId endpoint, CUdevice device, cuuint64_t offset, void* address,
                                       cuuint64_t bytes, unsigned long long flags) {
  if (served(reinterpret_cast<CUdeviceptr>(address))) return CUDA_ERROR_INVALID_VALUE;
  return call_true(&TrueDriver::cuLogicalEndpointBindAddr, endpoint, device, offset, address, bytes, flags);
}
