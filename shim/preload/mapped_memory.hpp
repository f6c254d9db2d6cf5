// The program's own virtual memory management, where Tessera serves it: reservations, handles and mappings.
//
// A handle of cuMemCreate is *ours*, a mappable block (tessera/mapping.h), if it can be expected to be mapped into the
// heap. A pointer into a reservation means everything that is mapped there, unless extents tell more. A handle of ours
// becomes the driver's, with its bytes, when it is used in a way that a movable block cannot serve: export, a second
// mapping, a mapping into addresses of the driver, access by other devices or by the host, multicast, and a handle for
// network cards. The program does not notice; the handle keeps its number.
//
// Reservations lie in the heap where it has room. The driver may map its own handles there too: such addresses
// are *foreign*, and calls that use them go to the driver (managed() is false for them).
//
// Thread safety: any thread. While the program makes no such calls, each function costs one load.
#pragma once

#include <atomic>
#include <cstddef>

#include "cuda_api.hpp"

namespace tessera::preload {

// A reservation, and how many bytes are mapped there.
struct MappedRange {
  CUdeviceptr address = 0;
  std::size_t mapped = 0;
};

namespace detail {
extern constinit std::atomic<bool> any_mapped;
bool find_mapped(CUdeviceptr address, CUmemAllocationProp& properties);
bool find_mapped_range(CUdeviceptr address, MappedRange& range);
}  // namespace detail

// Each of these serves the call if it concerns us, and leaves it to the driver otherwise. `caller`: the hook's return
// address; calls of NCCL, and of drivers below the loader, are the driver's.
CUresult reserve_addresses(CUdeviceptr* address, std::size_t bytes, std::size_t alignment, CUdeviceptr hint,
                           unsigned long long flags, const void* caller);
CUresult free_addresses(CUdeviceptr address, std::size_t bytes);
CUresult create_handle(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                       unsigned long long flags, const void* caller);
CUresult release_handle(CUmemGenericAllocationHandle handle);
CUresult retain_handle(CUmemGenericAllocationHandle* handle, void* address);
CUresult map_handle(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                    unsigned long long flags, const void* caller);
CUresult unmap_addresses(CUdeviceptr address, std::size_t bytes);
CUresult set_access(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count);
CUresult get_access(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address);
CUresult properties_of_handle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle);

// Sets `handle` to the driver's own, which a handle of ours becomes.
CUresult make_drivers(CUmemGenericAllocationHandle& handle);
// The same for the mapping at this address, if it is ours.
CUresult make_drivers_at(CUdeviceptr address);

// Whether a block of ours is mapped at the address; `properties` are those that the program requested.
inline bool is_mapped(CUdeviceptr address, CUmemAllocationProp& properties) {
  return detail::any_mapped.load(std::memory_order_relaxed) && detail::find_mapped(address, properties);
}
inline bool is_mapped(CUdeviceptr address) {
  CUmemAllocationProp properties;
  return is_mapped(address, properties);
}

// The reservation that contains the address, and in which blocks of ours are mapped, there or elsewhere.
inline bool find_mapped_range(CUdeviceptr address, MappedRange& range) {
  return detail::any_mapped.load(std::memory_order_relaxed) && detail::find_mapped_range(address, range);
}

// Tessera ends, or starts anew: calls on what was ours succeed and do nothing.
void forget_mapped();

}  // namespace tessera::preload
