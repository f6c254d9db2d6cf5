// Calls that share an address outside our control.
//
// Memory that the driver can share in place is pinned there and then shared. What it could share only for its own kind
// of allocation is refused with the driver's own error; legacy handles are handled in legacy_sharing_hooks.cpp. Memory
// that the program has mapped itself becomes the driver's first (mapped_memory.hpp).
#include <cstring>

#include "cuda_api.hpp"
#include "exposure.hpp"
#include "host_blocks.hpp"
#include "mapped_memory.hpp"
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
  const CUresult made = make_drivers_at(address);
  if (made != CUDA_SUCCESS) return made;
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
