#include "mapped_memory.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include "driver_objects.hpp"
#include "driver_room.hpp"
#include "exposure.hpp"
#include "foreign_ranges.hpp"
#include "green_contexts.hpp"
#include "lifecycle.hpp"
#include "mapped_blocks.hpp"
#include "mapped_table.hpp"
#include "nccl_library.hpp"
#include "outcome.hpp"
#include "outside_memory.hpp"

namespace tessera::preload {

namespace detail {
constinit std::atomic<bool> any_mapped{false};
}  // namespace detail

namespace {

constexpr std::size_t kMostAlignment = 32 << 20;  // of tessera_addresses_reserve()

constinit std::mutex table_lock;

// Never destroyed: exit handlers may still release handles.
MappedTable& table() {
  static auto& one = *new MappedTable;
  return one;
}

bool is_drivers_caller(const void* caller) { return lies_in_nccl(caller) || lies_in_known_driver(caller); }

CUresult release_drivers(Handle handle) {
  const CUresult result = call_true(&TrueDriver::cuMemRelease, handle);
  if (result == CUDA_SUCCESS) outside_memory().released(handle);
  return result;
}

CUresult unmap_drivers(CUdeviceptr address, std::size_t bytes) {
  const CUresult result = call_true(&TrueDriver::cuMemUnmap, address, bytes);
  if (result == CUDA_SUCCESS) outside_memory().unmapped(address, bytes);
  return result;
}

// Ends a handle that has become the driver's, and is neither referred to nor mapped any more.
void end_if_unused(Handle number) {
  const OurHandle* const handle = table().find(number);
  if (handle == nullptr || handle->real == 0 || handle->count != 0 || handle->real_places != 0) return;
  (void)release_drivers(handle->real);
  table().handles.erase(number);
}

void remove_mapping(Reservation& in, CUdeviceptr at) {
  const Handle former = in.mappings.at(at).former;
  in.remove(at);
  OurHandle* const handle = former != 0 ? table().find(former) : nullptr;
  if (handle == nullptr) return;
  --handle->real_places;
  end_if_unused(former);
}

// The driver's handle in the place of the block.
CUresult map_real(OurHandle& handle) {
  Reservation& range = table().reservation_of(handle.mapped)->second;
  Mapping& mapping = range.mappings.at(handle.mapped);
  mapping.former = std::exchange(mapping.ours, 0);
  const CUdeviceptr at = std::exchange(handle.mapped, 0);
  CUresult result = call_true(&TrueDriver::cuMemMap, at, handle.bytes, std::size_t{0}, handle.real, 0ULL);
  if (result == CUDA_SUCCESS) outside_memory().mapped(at, handle.bytes, handle.real, {"cuMemMap", nullptr});
  if (result == CUDA_SUCCESS && handle.open) result = grant_access(at, handle.bytes, handle.properties.location.id);
  if (result == CUDA_SUCCESS) {
    ++handle.real_places;
    foreign_ranges().add(at, handle.bytes);
  } else {
    range.remove(at);
  }
  return result;
}

// Makes the handle the driver's, with its bytes. A handle that was never accessible needs no copy.
CUresult make_one_real(OurHandle& handle) {
  if (handle.real != 0) return CUDA_SUCCESS;
  Handle real = 0;
  CUresult result = call_with_room({.bytes = handle.bytes, .device = handle.properties.location.id},
                                   &TrueDriver::cuMemCreate, &real, handle.bytes, &handle.properties, 0ULL);
  if (result != CUDA_SUCCESS) return result;
  note_handle(result, &real, handle.bytes, &handle.properties, nullptr);
  if (handle.written && handle.block != 0) result = copy_to(handle, real);
  if (result == CUDA_SUCCESS) result = destroy_block(handle, "cuMemCreate");
  if (result != CUDA_SUCCESS) {
    (void)release_drivers(real);
    return result;
  }
  handle.block = 0;
  handle.real = real;
  if (handle.mapped == 0) return result;
  const Handle number = table().mapping_at(handle.mapped)->second.ours;
  result = map_real(handle);
  end_if_unused(number);
  return result;
}

// All of ours in the reservation. Where that fails, those that remain stay on the device: work that names memory of the
// driver there may use them.
CUresult make_all_real(Reservation& in) {
  CUresult result = CUDA_SUCCESS;
  const std::vector<MappedTable::Place> places(in.mappings.begin(), in.mappings.end());
  for (const auto& [address, mapping] : places) {
    OurHandle* handle = mapping.ours != 0 ? table().find(mapping.ours) : nullptr;
    if (handle == nullptr) continue;
    if (result == CUDA_SUCCESS) result = make_one_real(*handle);
    handle = result != CUDA_SUCCESS ? table().find(mapping.ours) : nullptr;
    if (handle != nullptr && handle->open) keep_on_device(*handle);
  }
  return result;
}

// With those beside it.
CUresult make_real(OurHandle& handle) {
  const CUdeviceptr at = handle.mapped;
  const CUresult made = make_one_real(handle);
  if (made != CUDA_SUCCESS || at == 0) return made;
  return make_all_real(table().reservation_of(at)->second);
}

// ---- mapping ------------------------------------------------------------------------------------

// A handle of the driver's, perhaps of a handle that was ours, in a reservation that we may know.
CUresult map_drivers(CUdeviceptr address, std::size_t bytes, std::size_t offset, Handle handle, Handle former,
                     unsigned long long flags, MappedTable::Range range, const void* caller) {
  const bool known = range != table().reservations.end();
  const CUresult made = known && range->second.ours ? make_all_real(range->second) : CUDA_SUCCESS;
  if (made != CUDA_SUCCESS) return made;
  const CUresult result = call_with_room({}, &TrueDriver::cuMemMap, address, bytes, offset, handle, flags);
  if (result == CUDA_SUCCESS) outside_memory().mapped(address, bytes, handle, {"cuMemMap", caller});
  if (result != CUDA_SUCCESS || !known) return result;
  range->second.add(address, Mapping{bytes, 0, former});
  if (former != 0) ++table().find(former)->real_places;
  if (range->second.ours) foreign_ranges().add(address, bytes);
  return result;
}

// On success nothing is mapped at the address any more.
CUresult unmap_ours(Reservation& in, CUdeviceptr address, Handle number) {
  OurHandle& handle = *table().find(number);
  CUresult result = CUDA_SUCCESS;
  if (handle.count == 0) {
    result = destroy_block(handle, "cuMemUnmap");
  } else if (handle.open) {
    result = move_block(handle, 0);
  }
  if (result != CUDA_SUCCESS) return result;
  handle.mapped = 0;
  handle.open = false;
  if (handle.count == 0) table().handles.erase(number);
  in.remove(address);
  return result;
}

CUresult unmap_drivers_in(Reservation& in, CUdeviceptr address, std::size_t bytes) {
  const CUresult result = unmap_drivers(address, bytes);
  if (result != CUDA_SUCCESS) return result;
  for (const auto& [at, mapping] : MappedTable::mappings_in(in, address, bytes).mappings) remove_mapping(in, at);
  foreign_ranges().remove(address, bytes);
  return result;
}

bool is_full_access(const OurHandle& handle, const CUmemAccessDesc& access) {
  return access.location.type == CU_MEM_LOCATION_TYPE_DEVICE && access.location.id == handle.properties.location.id &&
         access.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

// To one mapping of ours.
CUresult set_access_to(OurHandle& handle, const CUmemAccessDesc* access, std::size_t count) {
  const CUdeviceptr at = handle.mapped;
  if (count == 1 && is_full_access(handle, access[0])) {
    if (handle.open) return CUDA_SUCCESS;
    const CUresult moved = move_block(handle, at);
    handle.open = moved == CUDA_SUCCESS;
    handle.written = handle.written || handle.open;
    if (moved != CUDA_ERROR_NOT_SUPPORTED) return moved;
  }
  const std::size_t bytes = handle.bytes;
  const CUresult made = make_real(handle);
  return made == CUDA_SUCCESS ? call_true(&TrueDriver::cuMemSetAccess, at, bytes, access, count) : made;
}

}  // namespace

bool detail::find_mapped(CUdeviceptr address, CUmemAllocationProp& properties) {
  const std::lock_guard<std::mutex> guard(table_lock);
  const OurHandle* const handle = table().ours_at(address);
  if (handle == nullptr) return false;
  properties = handle->properties;
  return true;
}

bool detail::find_mapped_range(CUdeviceptr address, MappedRange& range) {
  const std::lock_guard<std::mutex> guard(table_lock);
  const auto known = table().reservation_of(address);
  if (known == table().reservations.end() || !known->second.ours || known->second.has_drivers()) return false;
  range = {known->first, known->second.mapped};
  return range.mapped != 0;
}

CUresult reserve_addresses(CUdeviceptr* address, std::size_t bytes, std::size_t alignment, CUdeviceptr hint,
                           unsigned long long flags, const void* caller) {
  const bool plain = address != nullptr && bytes != 0 && bytes % kGranule == 0 && hint == 0 && flags == 0 &&
                     alignment <= kMostAlignment && (alignment & (alignment - 1)) == 0;
  CUdevice device = -1;
  const bool ours = plain && !is_drivers_caller(caller) && reserve_in_heap(bytes, address, device);
  const CUresult result =
      ours ? CUDA_SUCCESS : call_true(&TrueDriver::cuMemAddressReserve, address, bytes, alignment, hint, flags);
  if (result != CUDA_SUCCESS || lies_in_known_driver(caller)) return result;
  const std::lock_guard<std::mutex> guard(table_lock);
  table().reservations[*address] =
      Reservation{.bytes = bytes, .ours = ours, .is_library = lies_in_nccl(caller), .device = device};
  detail::any_mapped.store(true);
  return result;
}

CUresult free_addresses(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard<std::mutex> guard(table_lock);
  const auto range = table().reservation_of(address);
  if (range == table().reservations.end()) {
    return served(address) ? CUDA_ERROR_INVALID_VALUE : call_true(&TrueDriver::cuMemAddressFree, address, bytes);
  }
  if (range->first != address || range->second.bytes != bytes || !range->second.mappings.empty()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = CUDA_SUCCESS;
  if (!range->second.ours) {
    result = call_true(&TrueDriver::cuMemAddressFree, address, bytes);
  } else if (running() != nullptr) {
    const InPrimary in_primary;
    const Entry entry;
    result = cuda_result_said(tessera_addresses_release(running(), address), "cuMemAddressFree");
  }
  if (result == CUDA_SUCCESS) table().reservations.erase(range);
  return result;
}

CUresult create_handle(Handle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                       unsigned long long flags, const void* caller) {
  const bool plain = handle != nullptr && bytes != 0 && bytes % kGranule == 0 && properties != nullptr && flags == 0 &&
                     !is_drivers_caller(caller);
  if (plain && can_serve(*properties)) {
    const std::lock_guard<std::mutex> guard(table_lock);
    OurHandle made{*properties, bytes};
    if (table().may_place(bytes) && create_block(bytes, properties->location.id, made.block)) {
      *handle = table().new_number();
      table().handles.emplace(*handle, made);
      detail::any_mapped.store(true);
      return CUDA_SUCCESS;
    }
  }
  const bool on_device = properties != nullptr && properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const CUdevice device = on_device ? properties->location.id : -2;  // -2: nothing is yielded
  const CUresult result =
      call_with_room({.bytes = bytes, .device = device}, &TrueDriver::cuMemCreate, handle, bytes, properties, flags);
  return note_handle(result, handle, bytes, properties, caller);
}

CUresult release_handle(Handle handle) {
  const std::lock_guard<std::mutex> guard(table_lock);
  OurHandle* const ours = table().find(handle);
  if (ours == nullptr) {
    const CUresult result = release_drivers(handle);
    if (result == CUDA_SUCCESS) expect_device_memory();
    return result;
  }
  if (ours->count == 0) return CUDA_ERROR_INVALID_VALUE;
  if (ours->count > 1 || ours->mapped != 0 || ours->real_places != 0) {  // a mapping keeps the bytes
    --ours->count;
    return CUDA_SUCCESS;
  }
  const CUresult result = ours->real != 0 ? release_drivers(ours->real) : destroy_block(*ours, "cuMemRelease");
  if (result == CUDA_SUCCESS) table().handles.erase(handle);
  if (result == CUDA_SUCCESS) expect_device_memory();
  return result;
}

// The handle is the one with which the memory was mapped, also where it has become the driver's: CUDA guarantees that.
CUresult retain_handle(Handle* handle, void* address) {
  const auto at = reinterpret_cast<CUdeviceptr>(address);
  const std::lock_guard<std::mutex> guard(table_lock);
  const MappedTable::Place* const place = table().mapping_at(at);
  const Mapping mapping = place != nullptr ? place->second : Mapping{};
  const Handle number = mapping.ours != 0 ? mapping.ours : mapping.former;
  OurHandle* const ours = table().find(number);
  if (ours == nullptr) {
    if (served(at)) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = call_true(&TrueDriver::cuMemRetainAllocationHandle, handle, address);
    if (result == CUDA_SUCCESS) outside_memory().retained(*handle);
    return result;
  }
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ++ours->count;
  *handle = number;
  return CUDA_SUCCESS;
}

CUresult map_handle(CUdeviceptr address, std::size_t bytes, std::size_t offset, Handle handle, unsigned long long flags,
                    const void* caller) {
  const std::lock_guard<std::mutex> guard(table_lock);
  const auto range = table().reservation_of(address);
  const bool known = range != table().reservations.end();
  if (!known && served(address)) return CUDA_ERROR_INVALID_VALUE;
  if (known && (bytes > range->second.bytes - (address - range->first) ||
                MappedTable::has_mapping(range->second, address, bytes))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  OurHandle* const ours = table().find(handle);
  if (ours == nullptr) return map_drivers(address, bytes, offset, handle, 0, flags, range, caller);
  const bool in_part = offset != 0 || bytes < ours->bytes;
  const bool wrong = !known || ours->count == 0 || flags != 0 || (!in_part && bytes != ours->bytes);
  if (wrong) return CUDA_ERROR_INVALID_VALUE;
  if (in_part) return CUDA_ERROR_NOT_SUPPORTED;
  if (address % kGranule != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool in_heap = range->second.ours && range->second.device == ours->properties.location.id;
  if (ours->real == 0 && ours->mapped == 0 && in_heap && !range->second.has_drivers()) {
    ours->mapped = address;
    range->second.add(address, Mapping{bytes, handle});
    return CUDA_SUCCESS;
  }
  const CUresult made = make_real(*ours);
  return made == CUDA_SUCCESS ? map_drivers(address, bytes, offset, ours->real, handle, flags, range, caller) : made;
}

CUresult unmap_addresses(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard<std::mutex> guard(table_lock);
  const auto range = table().reservation_of(address);
  if (range == table().reservations.end()) {
    return served(address) ? CUDA_ERROR_INVALID_VALUE : unmap_drivers(address, bytes);
  }
  Reservation& in = range->second;
  const bool exceeds_addresses = address + bytes < address;
  if (in.ours && exceeds_addresses) return CUDA_SUCCESS;  // nothing is below its end
  const MappedTable::Stretch found = MappedTable::mappings_in(in, address, bytes);
  const bool wrong = bytes == 0 || bytes % kGranule != 0 || address % kGranule != 0 || !found.is_whole ||
                     bytes > in.bytes - (address - range->first);
  if (in.ours && wrong) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CUDA_SUCCESS;
  if (!in.ours) {
    result = unmap_drivers_in(in, address, bytes);
  } else {
    for (const auto& [at, mapping] : found.mappings) {
      if (result != CUDA_SUCCESS) break;
      result = mapping.ours != 0 ? unmap_ours(in, at, mapping.ours) : unmap_drivers_in(in, at, mapping.bytes);
    }
  }
  if (result == CUDA_SUCCESS) expect_device_memory();
  return result;
}

CUresult set_access(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count) {
  const std::lock_guard<std::mutex> guard(table_lock);
  const auto range = table().reservation_of(address);
  const bool known = range != table().reservations.end();
  if (!known && served(address)) return CUDA_ERROR_INVALID_VALUE;
  const MappedTable::Stretch found =
      known ? MappedTable::mappings_in(range->second, address, bytes) : MappedTable::Stretch();
  if (!found.has_ours && (!known || table().ours_at(address) == nullptr)) {
    return call_true(&TrueDriver::cuMemSetAccess, address, bytes, access, count);
  }
  const bool exceeds = bytes > range->second.bytes - (address - range->first);
  const bool is_paged = bytes != 0 && bytes % kGranule == 0 && address % kGranule == 0;
  if (access == nullptr || count == 0 || exceeds || !is_paged || !found.is_whole) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CUDA_SUCCESS;
  for (const auto& [at, mapping] : found.mappings) {
    if (result != CUDA_SUCCESS) break;
    OurHandle* const ours = table().ours_at(at);  // an earlier one may have made it the driver's
    result = ours != nullptr ? set_access_to(*ours, access, count)
                             : call_true(&TrueDriver::cuMemSetAccess, at, mapping.bytes, access, count);
  }
  return result;
}

CUresult get_access(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  const std::lock_guard<std::mutex> guard(table_lock);
  const OurHandle* const ours = table().ours_at(address);
  if (ours == nullptr) return call_true(&TrueDriver::cuMemGetAccess, flags, location, address);
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool own =
      location->type == CU_MEM_LOCATION_TYPE_DEVICE && location->id == ours->properties.location.id && ours->open;
  *flags = own ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

CUresult properties_of_handle(CUmemAllocationProp* properties, Handle handle) {
  const std::lock_guard<std::mutex> guard(table_lock);
  const OurHandle* const ours = table().find(handle);
  if (ours == nullptr) return call_true(&TrueDriver::cuMemGetAllocationPropertiesFromHandle, properties, handle);
  if (properties == nullptr || ours->count == 0) return CUDA_ERROR_INVALID_VALUE;
  *properties = ours->properties;
  return CUDA_SUCCESS;
}

CUresult make_drivers(Handle& handle) {
  const std::lock_guard<std::mutex> guard(table_lock);
  OurHandle* const ours = table().find(handle);
  if (ours == nullptr) return CUDA_SUCCESS;
  if (ours->count == 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult made = make_real(*ours);
  handle = ours->real;
  return made;
}

CUresult make_drivers_at(CUdeviceptr address) {
  const std::lock_guard<std::mutex> guard(table_lock);
  OurHandle* const ours = table().ours_at(address);
  return ours != nullptr ? make_real(*ours) : CUDA_SUCCESS;
}

// Handles that have become the driver's live on.
void forget_mapped() {
  const std::lock_guard<std::mutex> guard(table_lock);
  std::erase_if(table().handles, [](const auto& entry) { return entry.second.real == 0; });
  for (auto& [address, range] : table().reservations) {
    while (range.ours && !range.mappings.empty()) remove_mapping(range, range.mappings.begin()->first);
  }
  std::erase_if(table().reservations, [](const auto& entry) { return entry.second.ours; });
  foreign_ranges().clear();
}

}  // namespace tessera::preload
