// What the program has reserved, created and mapped, and which of it is ours: the records behind mapped_memory.hpp.
//
// Thread safety: none; mapped_memory.cpp holds its lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "cuda_api.hpp"
#include "tessera/mapping.h"

namespace tessera::preload {

using Handle = CUmemGenericAllocationHandle;

struct OurHandle {
  CUmemAllocationProp properties;
  std::size_t bytes;
  unsigned count = 1;         // of the program's references
  tessera_address block = 0;  // its current address; 0: it is the driver's, or gone
  CUdeviceptr mapped = 0;     // 0: nowhere
  bool open = false;          // access is set, so the block is at `mapped`
  bool written = false;       // it may have contents: access was set at some time
  Handle real = 0;            // the driver's handle that it has become, ...
  unsigned real_places = 0;   // ... and how often that is mapped
};

struct Mapping {
  std::size_t bytes;
  Handle ours = 0;    // 0: the driver's
  Handle former = 0;  // what the program calls a handle of the driver's that was ours
};

struct Reservation {
  std::size_t bytes;
  bool ours;                // its addresses are in the heap of `device`
  bool is_library = false;  // NCCL's, which maps what it creates itself
  CUdevice device = -1;
  std::size_t mapped = 0;  // bytes
  std::map<CUdeviceptr, Mapping> mappings{};

  // A reservation has mappings of ours or of the driver, not both: an address there means all that is mapped there.
  bool has_drivers() const {
    return std::ranges::any_of(mappings, [](const auto& place) { return place.second.ours == 0; });
  }
  void add(CUdeviceptr address, Mapping mapping) {
    mapped += mapping.bytes;
    mappings.emplace(address, mapping);
  }
  void remove(CUdeviceptr address) {
    const auto known = mappings.find(address);
    if (known == mappings.end()) return;
    mapped -= known->second.bytes;
    mappings.erase(known);
  }
};

class MappedTable {
 public:
  std::map<Handle, OurHandle> handles;
  std::map<CUdeviceptr, Reservation> reservations;

  // A number that is no handle of a driver: those are small, or addresses of the process.
  Handle new_number() { return kMark | ++numbers_; }
  OurHandle* find(Handle handle) {
    const auto known = (handle & kMask) == kMark ? handles.find(handle) : handles.end();
    return known != handles.end() ? &known->second : nullptr;
  }

  using Range = std::map<CUdeviceptr, Reservation>::iterator;
  // The reservation that contains the address; end() if there is none.
  Range reservation_of(CUdeviceptr address) {
    auto range = reservations.upper_bound(address);
    if (range == reservations.begin()) return reservations.end();
    --range;
    return address - range->first < range->second.bytes ? range : reservations.end();
  }
  using Place = std::map<CUdeviceptr, Mapping>::value_type;
  // The mapping that contains the address; null if there is none.
  Place* mapping_at(CUdeviceptr address) {
    const auto range = reservation_of(address);
    if (range == reservations.end()) return nullptr;
    auto mapping = range->second.mappings.upper_bound(address);
    if (mapping == range->second.mappings.begin()) return nullptr;
    --mapping;
    return address - mapping->first < mapping->second.bytes ? &*mapping : nullptr;
  }
  // The handle of ours that is mapped at the address; null if there is none.
  OurHandle* ours_at(CUdeviceptr address) {
    const Place* const mapping = mapping_at(address);
    return mapping != nullptr && mapping->second.ours != 0 ? find(mapping->second.ours) : nullptr;
  }
  struct Stretch {
    std::vector<Place> mappings;  // those that begin in it
    bool is_whole = false;        // it cuts no mapping; there may be gaps
    bool has_ours = false;
  };
  static Stretch mappings_in(const Reservation& in, CUdeviceptr address, std::size_t bytes) {
    Stretch found;
    CUdeviceptr next = address;
    auto mapping = in.mappings.lower_bound(address);
    for (; mapping != in.mappings.end() && mapping->first - address < bytes; ++mapping) {
      found.mappings.push_back(*mapping);
      found.has_ours = found.has_ours || mapping->second.ours != 0;
      next = mapping->first + mapping->second.bytes;
    }
    auto before = in.mappings.lower_bound(address);
    const bool begins_in_one = before != in.mappings.begin() && (--before)->first + before->second.bytes > address;
    found.is_whole = !begins_in_one && next - address <= bytes;
    return found;
  }
  // Whether anything is mapped in [address, address + bytes).
  static bool has_mapping(const Reservation& in, CUdeviceptr address, std::size_t bytes) {
    auto next = in.mappings.lower_bound(address + bytes);
    if (next == in.mappings.begin()) return false;
    --next;
    return next->first + next->second.bytes > address;
  }
  // Whether a new handle of this size can be expected to be mapped into the heap: where no reservation has room for it,
  // one is made for it next.
  bool may_place(std::size_t bytes) const {
    bool elsewhere = false;
    for (const auto& [address, range] : reservations) {
      const bool has_room = range.bytes - range.mapped >= bytes;
      if (has_room && range.ours) return true;
      // Where the driver has many mappings, new ones replace some.
      elsewhere = elsewhere || (!range.ours && !range.is_library && (has_room || range.mappings.size() > 1));
    }
    return !elsewhere;
  }

 private:
  static constexpr Handle kMark = 0x7e55'e7a0'0000'0000;
  static constexpr Handle kMask = 0xffff'ffff'0000'0000;

  Handle numbers_ = 0;
};

}  // namespace tessera::preload
