// cuMemAddress*, cuMemCreate, cuMemMap and related calls: virtual memory management.
//
// A CUmemGenericAllocationHandle is the simulator's frame id.
#include <cstring>
#include <utility>
#include <vector>

#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

constexpr std::uint64_t kHostPage = 4096;

// Requires a machine with virtual memory management.
template <class Body>
CUresult with_virtual_memory(Body&& body) {
  return with_machine([&](Machine& machine) -> CUresult {
    if (!machine.environment.virtual_memory) return CUDA_ERROR_NOT_SUPPORTED;
    return to_result(body(machine));
  });
}

bool is_host(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

CUresult check_location(Machine& machine, const CUmemLocation& location) {
  if (is_host(location.type)) return CUDA_SUCCESS;
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  const bool known = location.id >= 0 && location.id < machine.environment.devices;
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult check_properties(Machine& machine, const CUmemAllocationProp* properties) {
  if (properties == nullptr || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const unsigned beyond = static_cast<unsigned>(properties->requestedHandleTypes) &
                          ~static_cast<unsigned>(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (beyond != 0) return CUDA_ERROR_NOT_SUPPORTED;
  return check_location(machine, properties->location);
}

std::uint64_t granularity(Machine& machine) {
  const auto properties = machine.driver.properties(DeviceId(0));
  return properties.is_ok() ? properties.value().granularity.value() : (2 << 20);
}

// Stretches of the range that mappings fill, none of which the range cuts; gaps between them are allowed. Errors:
// CUDA_ERROR_INVALID_VALUE for a range that cuts a mapping or leaves the reserved addresses.
CUresult find_stretches(Machine& machine, Address address, Bytes bytes, std::vector<std::pair<Address, Bytes>>& found) {
  const std::uint64_t unit = granularity(machine);
  if (bytes.value() == 0 || bytes.value() % unit != 0 || address.value() % unit != 0) return CUDA_ERROR_INVALID_VALUE;
  const Address end = address + bytes;
  for (Address at = address; at < end;) {
    const auto mapping = machine.driver.mapping_at(at);
    if (!mapping) {
      const auto range = machine.ranges.find(at);
      if (!range || range->kind != RangeKind::kReservation) return CUDA_ERROR_INVALID_VALUE;
      at = at + Bytes(unit);
      continue;
    }
    if (mapping->address != at || mapping->address + mapping->bytes > end) return CUDA_ERROR_INVALID_VALUE;
    if (!found.empty() && found.back().first + found.back().second == at) {
      found.back().second = found.back().second + mapping->bytes;
    } else {
      found.emplace_back(at, mapping->bytes);
    }
    at = at + mapping->bytes;
  }
  return CUDA_SUCCESS;
}

// Grants a location access to the range. Access cannot be revoked or narrowed here.
CUresult set_access(Machine& machine, Address address, Bytes bytes, const CUmemAccessDesc& access) {
  if (access.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_NOT_SUPPORTED;
  SOFTCUDA_TRY(check_location(machine, access.location));
  if (!is_host(access.location.type)) {
    const DeviceId device(static_cast<std::uint64_t>(access.location.id));
    return to_result(machine.driver.set_access(address, bytes, device));
  }
  // The host can access host frames only, as on a machine with a PCIe GPU.
  for (Address at = address; at < address + bytes;) {
    const auto mapping = machine.driver.mapping_at(at);
    if (!mapping || mapping->frame.location != FrameLocation::kHost) return CUDA_ERROR_INVALID_VALUE;
    at = mapping->address + mapping->bytes;
  }
  return to_result(machine.driver.set_access(address, bytes, DeviceId(0)));
}

}  // namespace

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags) {
  return with_virtual_memory([&](Machine& machine) -> CUresult {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    SOFTCUDA_TRY(check_properties(machine, properties));
    *bytes = granularity(machine);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
  return with_virtual_memory([&](Machine& machine) -> CUresult {
    const std::uint64_t unit = granularity(machine);
    if (address == nullptr || bytes == 0 || bytes % unit != 0 || flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if ((alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (hint % kHostPage != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto reserved =
        machine.driver.reserve(Bytes(bytes), Bytes(std::max<std::uint64_t>(alignment, unit)), Address(hint));
    if (!reserved.is_ok()) return to_result(reserved.status());
    Range range{.base = reserved.value(), .bytes = Bytes(bytes), .kind = RangeKind::kReservation};
    range.context = current_context();
    if (!machine.ranges.add(range)) return CUDA_ERROR_UNKNOWN;
    *address = reserved.value().value();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return with_virtual_memory([&](Machine& machine) -> CUresult {
    const auto range = machine.ranges.find(Address(address));
    const bool exact = range && range->kind == RangeKind::kReservation && range->base == Address(address) &&
                       range->bytes == Bytes(bytes);
    if (!exact) return CUDA_ERROR_INVALID_VALUE;
    SOFTCUDA_TRY(machine.driver.release(Address(address), Bytes(bytes)));
    machine.ranges.remove(Address(address), RangeKind::kReservation);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  return with_virtual_memory([&](Machine& machine) -> CUresult {
    if (handle == nullptr || bytes == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    SOFTCUDA_TRY(check_properties(machine, properties));
    if (properties->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) return CUDA_ERROR_INVALID_VALUE;
    if (bytes % granularity(machine) != 0) return CUDA_ERROR_INVALID_VALUE;
    const bool host = is_host(properties->location.type);
    const DeviceId device(host ? 0 : static_cast<std::uint64_t>(properties->location.id));
    const auto frame =
        machine.driver.create_frame(device, host ? FrameLocation::kHost : FrameLocation::kDevice, Bytes(bytes));
    if (!frame.is_ok()) return to_result(frame.status());
    if (properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) {
      SOFTCUDA_TRY(machine.driver.make_shareable(frame.value()));
    }
    *handle = frame.value().value();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemExportToShareableHandle(void* shared, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long flags) {
  return with_virtual_memory([&](Machine& machine) -> CUresult {
    if (shared == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    const auto file = machine.driver.share_frame(FrameId(handle));
    if (!file.is_ok()) return to_result(file.status());
    std::memcpy(shared, &file.value(), sizeof(int));
    return CUDA_SUCCESS;
  });
}

// The file descriptor itself is passed in place of a pointer to a handle.
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shared,
                                        CUmemAllocationHandleType type) {
  return with_virtual_memory([&](Machine& machine) -> CUresult {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    const auto frame = machine.driver.adopt_frame(static_cast<int>(reinterpret_cast<std::intptr_t>(shared)));
    if (!frame.is_ok()) return to_result(frame.status());
    *handle = frame.value().value();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return with_virtual_memory([&](Machine& machine) { return machine.driver.destroy_frame(FrameId(handle)); });
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return with_virtual_memory([&](Machine& machine) -> CUresult {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (offset != 0) return CUDA_ERROR_NOT_SUPPORTED;
    const auto range = machine.ranges.find(Address(address));
    if (!range || range->kind != RangeKind::kReservation) return CUDA_ERROR_INVALID_VALUE;
    return to_result(machine.driver.map(Address(address), Bytes(bytes), FrameId(handle)));
  });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return with_virtual_memory([&](Machine& machine) -> CUresult {
    const auto range = machine.ranges.find(Address(address));
    if (!range || range->kind != RangeKind::kReservation) return CUDA_ERROR_INVALID_VALUE;
    std::vector<std::pair<Address, Bytes>> stretches;  // none if the range exceeds the address space
    SOFTCUDA_TRY(find_stretches(machine, Address(address), Bytes(bytes), stretches));
    for (const auto& [at, length] : stretches) SOFTCUDA_TRY(machine.driver.unmap(at, length));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  return with_virtual_memory([&](Machine& machine) -> CUresult {
    if (access == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    const auto range = machine.ranges.find(Address(address));
    if (!range || range->kind != RangeKind::kReservation) return CUDA_ERROR_INVALID_VALUE;
    std::vector<std::pair<Address, Bytes>> stretches;
    SOFTCUDA_TRY(find_stretches(machine, Address(address), Bytes(bytes), stretches));
    if (stretches.empty()) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      for (const auto& [at, length] : stretches) SOFTCUDA_TRY(set_access(machine, at, length, access[i]));
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return with_virtual_memory([&](Machine& machine) -> CUresult {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    SOFTCUDA_TRY(check_location(machine, *location));
    const auto mapping = machine.driver.mapping_at(Address(address));
    if (!mapping) return CUDA_ERROR_INVALID_VALUE;
    const bool host = is_host(location->type);
    const bool open = host ? mapping->frame.location == FrameLocation::kHost && mapping->access != 0
                           : (mapping->access >> location->id & 1) != 0;
    *flags = open ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return with_virtual_memory([&](Machine& machine) -> CUresult {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Address at(reinterpret_cast<std::uint64_t>(address));
    const auto range = machine.ranges.find(at);
    const auto mapping = machine.driver.mapping_at(at);
    if (!range || range->kind != RangeKind::kReservation || !mapping) return CUDA_ERROR_INVALID_VALUE;
    SOFTCUDA_TRY(machine.driver.retain_frame(mapping->frame.frame));
    *handle = mapping->frame.frame.value();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  return with_virtual_memory([&](Machine& machine) -> CUresult {
    if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto frame = machine.driver.frame(FrameId(handle));
    if (!frame) return CUDA_ERROR_INVALID_VALUE;
    *properties = {};
    properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    const bool host = frame->location == FrameLocation::kHost;
    properties->location.type = host ? CU_MEM_LOCATION_TYPE_HOST_NUMA : CU_MEM_LOCATION_TYPE_DEVICE;
    properties->location.id = host ? 0 : static_cast<int>(frame->device.value());
    if (frame->shareable) properties->requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return CUDA_SUCCESS;
  });
}
