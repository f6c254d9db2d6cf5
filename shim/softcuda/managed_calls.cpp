// cuMemAdvise, cuMemPrefetch*, cuMemDiscard*, cuMemRangeGetAttribute(s), cuStreamAttachMemAsync: hints about managed
// memory.
//
// Device and host can access it at any time, so hints are only stored and reported; discarded memory keeps its old
// contents, which CUDA allows.
#include <algorithm>
#include <cstring>

#include "call.hpp"

// This file defines names that cuda.h maps to later versions.
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuMemPrefetchAsync_v2

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

constexpr CUmemLocation kNowhere{CU_MEM_LOCATION_TYPE_INVALID, 0};

bool is_host(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_HOST || location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

CUresult check_location(const Machine& machine, const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA) {
    return location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;  // there is one NUMA node
  }
  if (is_host(location)) return CUDA_SUCCESS;
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  return location.id >= 0 && location.id < machine.environment.devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

// The number for a location in the first version of these calls.
int number_of(const CUmemLocation& location) {
  if (is_host(location)) return CU_DEVICE_CPU;
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_INVALID;
}

CUmemLocation place_of_number(CUdevice device) {
  if (device == CU_DEVICE_CPU) return {CU_MEM_LOCATION_TYPE_HOST, 0};
  return {CU_MEM_LOCATION_TYPE_DEVICE, device};
}

bool same(const CUmemLocation& a, const CUmemLocation& b) { return a.type == b.type && a.id == b.id; }

// Calls body(machine) if the whole range is managed memory.
template <class Body>
CUresult on_managed(CUdeviceptr address, size_t bytes, Body&& body) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto range = machine.ranges.find(Address(address));
    const bool whole = bytes != 0 && range && range->managed && range->contains(Address(address), Bytes(bytes));
    return whole ? body(machine) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult advise(Advice& said, CUmem_advise advice, const CUmemLocation& location) {
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY: said.read_mostly = true; break;
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY: said.read_mostly = false; break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: said.preferred = location; break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: said.preferred = kNowhere; break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY: said.accessed_by.insert(number_of(location)); break;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY: said.accessed_by.erase(number_of(location)); break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// Whether the advice needs a location.
bool needs_place(CUmem_advise advice) {
  return advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
         advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
}

// The location that all parts have in common, or none.
CUmemLocation common(const std::vector<Advice>& said, CUmemLocation Advice::*place) {
  const CUmemLocation first = said.front().*place;
  const bool all = std::ranges::all_of(said, [&](const Advice& each) { return same(each.*place, first); });
  return all ? first : kNowhere;
}

CUresult give_devices(const std::vector<Advice>& said, int* list, size_t count) {
  std::vector<int> devices;
  for (const int device : said.front().accessed_by) {
    const bool all = std::ranges::all_of(said, [&](const Advice& each) { return each.accessed_by.contains(device); });
    if (all) devices.push_back(device);
  }
  std::stable_partition(devices.begin(), devices.end(), [](int device) { return device >= 0; });  // the host comes last
  for (size_t i = 0; i < count; ++i) list[i] = i < devices.size() ? devices[i] : CU_DEVICE_INVALID;
  return CUDA_SUCCESS;
}

CUresult give_attribute(const std::vector<Advice>& said, CUmem_range_attribute attribute, void* data, size_t bytes) {
  auto* const number = static_cast<int*>(data);
  if (data == nullptr || bytes == 0 || bytes % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) return give_devices(said, number, bytes / sizeof(int));
  if (bytes != sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
  const CUmemLocation preferred = common(said, &Advice::preferred), prefetched = common(said, &Advice::prefetched);
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: *number = std::ranges::all_of(said, &Advice::read_mostly) ? 1 : 0; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: *number = number_of(preferred); break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: *number = number_of(prefetched); break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: *number = preferred.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: *number = preferred.id; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: *number = prefetched.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: *number = prefetched.id; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult prefetch(CUdeviceptr address, size_t bytes, const CUmemLocation& to, CUstream stream) {
  return on_managed(address, bytes, [&](Machine& machine) -> CUresult {
    SOFTCUDA_TRY(check_location(machine, to));
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    machine.advice.change(Address(address), Bytes(bytes), [&](Advice& said) { said.prefetched = to; });
    return CUDA_SUCCESS;
  });
}

// The lists of a batch must be complete, and contain only managed memory.
CUresult check_batch(const CUdeviceptr* addresses, const size_t* sizes, size_t count, unsigned long long flags,
                     CUstream stream) {
  if (addresses == nullptr || sizes == nullptr || count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    SOFTCUDA_TRY(on_managed(addresses[i], sizes[i],
                            [&](Machine& machine) { return to_result(machine.streams.resolve(stream).status()); }));
  }
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  return on_managed(address, bytes, [&](Machine& machine) -> CUresult {
    if (needs_place(advice)) SOFTCUDA_TRY(check_location(machine, location));
    CUresult result = CUDA_SUCCESS;
    machine.advice.change(Address(address), Bytes(bytes),
                          [&](Advice& said) { result = advise(said, advice, location); });
    return result;
  });
}
CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
  return cuMemAdvise_v2(address, bytes, advice, place_of_number(device));
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                               CUstream stream) {
  return flags != 0 ? CUDA_ERROR_INVALID_VALUE : prefetch(address, bytes, location, stream);
}
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
  return prefetch(address, bytes, place_of_number(device), stream);
}

#pragma GCC visibility pop
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count, CUmemLocation* locations,
                                 size_t* location_indices, size_t location_count, unsigned long long flags,
                                 CUstream stream) {
  SOFTCUDA_TRY(check_batch(addresses, sizes, count, flags, stream));
  const bool placed = locations != nullptr && location_indices != nullptr && location_count != 0 &&
                      location_count <= count && location_indices[0] == 0;
  if (!placed) return CUDA_ERROR_INVALID_VALUE;
  // Each location applies to the ranges from its index on.
  for (size_t i = 0, at = 0; i < count; ++i) {
    while (at + 1 < location_count && location_indices[at + 1] <= i) ++at;
    SOFTCUDA_TRY(prefetch(addresses[i], sizes[i], locations[at], stream));
  }
  return CUDA_SUCCESS;
}

CUresult cuMemDiscardBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count, unsigned long long flags,
                                CUstream stream) {
  return check_batch(addresses, sizes, count, flags, stream);
}

CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                           CUmemLocation* locations, size_t* location_indices, size_t location_count,
                                           unsigned long long flags, CUstream stream) {
  return cuMemPrefetchBatchAsync(addresses, sizes, count, locations, location_indices, location_count, flags, stream);
}

CUresult cuMemRangeGetAttribute(void* data, size_t data_bytes, CUmem_range_attribute attribute, CUdeviceptr address,
                                size_t bytes) {
  return on_managed(address, bytes, [&](Machine& machine) {
    return give_attribute(machine.advice.of(Address(address), Bytes(bytes)), attribute, data, data_bytes);
  });
}

CUresult cuMemRangeGetAttributes(void** data, size_t* data_bytes, CUmem_range_attribute* attributes, size_t count,
                                 CUdeviceptr address, size_t bytes) {
  const bool whole = data != nullptr && data_bytes != nullptr && attributes != nullptr && count != 0;
  if (!whole) return CUDA_ERROR_INVALID_VALUE;
  return on_managed(address, bytes, [&](Machine& machine) -> CUresult {
    const auto said = machine.advice.of(Address(address), Bytes(bytes));
    for (size_t i = 0; i < count; ++i) SOFTCUDA_TRY(give_attribute(said, attributes[i], data[i], data_bytes[i]));
    return CUDA_SUCCESS;
  });
}

// A length of 0 means the whole range. The stream need not be waited for: the host may use the memory at any time here.
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t bytes, unsigned flags) {
  const bool known = flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST || flags == CU_MEM_ATTACH_SINGLE;
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  return on_managed(address, std::max<size_t>(bytes, 1), [&](Machine& machine) -> CUresult {
    const auto range = machine.ranges.find(Address(address));
    const bool whole = range->base == Address(address) && (bytes == 0 || range->bytes == Bytes(bytes));
    return whole ? to_result(machine.streams.resolve(stream).status()) : CUDA_ERROR_INVALID_VALUE;
  });
}
