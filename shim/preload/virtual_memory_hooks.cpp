// The program's own virtual memory management: reserved addresses, handles and mappings.
//
// What Tessera can serve is managed like any other memory (mapped_memory.hpp). To the program a block of cuMemAlloc is
// no such memory: all of these return CUDA_ERROR_INVALID_VALUE for it.
#include "cuda_api.hpp"
#include "exposure.hpp"
#include "mapped_memory.hpp"
#include "torch_listener.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

// Calls the driver with its own handle.
template <class Act>
CUresult with_drivers(CUmemGenericAllocationHandle handle, Act act) {
  const CUresult made = make_drivers(handle);
  return made == CUDA_SUCCESS ? act(handle) : made;
}

// The same for an address. Blocks of ours that the program has not mapped are refused.
template <class Act>
CUresult with_drivers_at(CUdeviceptr address, Act act) {
  const CUresult made = make_drivers_at(address);
  if (made != CUDA_SUCCESS) return made;
  return served(address) ? CUDA_ERROR_INVALID_VALUE : act();
}

}  // namespace

TESSERA_HOOK cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment, CUdeviceptr hint,
                                 unsigned long long flags) {
  return reserve_addresses(address, bytes, alignment, hint, flags, TESSERA_CALLER);
}

TESSERA_HOOK cuMemAddressFree(CUdeviceptr address, std::size_t bytes) { return free_addresses(address, bytes); }

TESSERA_HOOK cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                         unsigned long long flags) {
  const CUresult result = create_handle(handle, bytes, properties, flags, TESSERA_CALLER);
  look_for_torch();
  return result;
}

TESSERA_HOOK cuMemRelease(CUmemGenericAllocationHandle handle) { return release_handle(handle); }

TESSERA_HOOK cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return retain_handle(handle, address);
}

TESSERA_HOOK cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                      unsigned long long flags) {
  return map_handle(address, bytes, offset, handle, flags, TESSERA_CALLER);
}

TESSERA_HOOK cuMemUnmap(CUdeviceptr address, std::size_t bytes) { return unmap_addresses(address, bytes); }

TESSERA_HOOK cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count) {
  return set_access(address, bytes, access, count);
}

TESSERA_HOOK cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return get_access(flags, location, address);
}

TESSERA_HOOK cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                    CUmemGenericAllocationHandle handle) {
  return properties_of_handle(properties, handle);
}

// ---- what only the driver's own memory can do --------------------------------------------------

TESSERA_HOOK cuMemExportToShareableHandle(void* shared, CUmemGenericAllocationHandle handle,
                                          CUmemAllocationHandleType type, unsigned long long flags) {
  return with_drivers(handle, [&](CUmemGenericAllocationHandle drivers) {
    return call_true(&TrueDriver::cuMemExportToShareableHandle, shared, drivers, type, flags);
  });
}

TESSERA_HOOK cuMulticastBindMem(CUmemGenericAllocationHandle multicast, std::size_t offset,
                                CUmemGenericAllocationHandle handle, std::size_t from, std::size_t bytes,
                                unsigned long long flags) {
  return with_drivers(handle, [&](CUmemGenericAllocationHandle drivers) {
    return call_true(&TrueDriver::cuMulticastBindMem, multicast, offset, drivers, from, bytes, flags);
  });
}

TESSERA_HOOK cuMulticastBindMem_v2(CUmemGenericAllocationHandle multicast, CUdevice device, std::size_t offset,
                                   CUmemGenericAllocationHandle handle, std::size_t from, std::size_t bytes,
                                   unsigned long long flags) {
  return with_drivers(handle, [&](CUmemGenericAllocationHandle drivers) {
    return call_true(&TrueDriver::cuMulticastBindMem_v2, multicast, device, offset, drivers, from, bytes, flags);
  });
}

TESSERA_HOOK cuMulticastBindAddr(CUmemGenericAllocationHandle multicast, std::size_t offset, CUdeviceptr address,
                                 std::size_t bytes, unsigned long long flags) {
  return with_drivers_at(
      address, [&] { return call_true(&TrueDriver::cuMulticastBindAddr, multicast, offset, address, bytes, flags); });
}

TESSERA_HOOK cuMulticastBindAddr_v2(CUmemGenericAllocationHandle multicast, CUdevice device, std::size_t offset,
                                    CUdeviceptr address, std::size_t bytes, unsigned long long flags) {
  return with_drivers_at(address, [&] {
    return call_true(&TrueDriver::cuMulticastBindAddr_v2, multicast, device, offset, address, bytes, flags);
  });
}

TESSERA_HOOK cuLogicalEndpointBindMem(CUlogicalEndpointId endpoint, CUdevice device, cuuint64_t offset,
                                      CUmemGenericAllocationHandle handle, cuuint64_t from, cuuint64_t bytes,
                                      unsigned long long flags) {
  return with_drivers(handle, [&](CUmemGenericAllocationHandle drivers) {
    return call_true(&TrueDriver::cuLogicalEndpointBindMem, endpoint, device, offset, drivers, from, bytes, flags);
  });
}

TESSERA_HOOK cuLogicalEndpointBindAddr(CUlogicalEndpointId endpoint, CUdevice device, cuuint64_t offset, void* address,
                                       cuuint64_t bytes, unsigned long long flags) {
  return with_drivers_at(reinterpret_cast<CUdeviceptr>(address), [&] {
    return call_true(&TrueDriver::cuLogicalEndpointBindAddr, endpoint, device, offset, address, bytes, flags);
  });
}
