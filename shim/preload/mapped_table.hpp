// What the program has reserved, created and mapped, and which of it is ours: the records behind mapped_memory.hpp.
//
// Thread safety: none; mapped_memory.cpp holds its lock.
#pragma once

#include <cstddef>
#include <map>

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
  Handle real = 0;            // the driver's handle that it has become
};

struct Mapping {
  std::size_t bytes;
  Handle ours = 0;  // 0: the driver's
};

struct Reservation {
  std::size_t bytes;
  bool ours;               // its addresses are in the heap
  bool was_whole = false;  // one handle filled it
  bool was_part = false;   // a mapping did not fill it
  std::map<CUdeviceptr, Mapping> mappings{};
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
  // The handle of ours that is mapped at the address; null if there is none.
  OurHandle* ours_at(CUdeviceptr address) {
    const auto range = reservation_of(address);
    if (range == reservations.end() || range->second.mappings.empty()) return nullptr;
    const Mapping& only = range->second.mappings.begin()->second;  // ours fill the reservation
    return only.ours != 0 ? find(only.ours) : nullptr;
  }
  // Whether anything is mapped in [address, address + bytes).
  static bool has_mapping(const Reservation& in, CUdeviceptr address, std::size_t bytes) {
    auto next = in.mappings.lower_bound(address + bytes);
    if (next == in.mappings.begin()) return false;
    --next;
    return next->first + next->second.bytes > address;
  }
  // Whether a new handle of this size can be expected to fill a reservation. Programs that grow a reservation by many
  // handles reserve it first; programs with a handle for each reservation make either first, of one size.
  bool may_fill_one(std::size_t bytes) const {
    bool grows = false;
    for (const auto& [address, range] : reservations) {
      const bool empty = range.mappings.empty();
      if (empty && range.ours && !range.was_part && range.bytes == bytes) return true;
      grows = grows || (range.bytes > bytes && !range.was_whole && (empty || range.was_part));
    }
    return !grows;
  }

 private:
  static constexpr Handle kMark = 0x7e55'e7a0'0000'0000;
  static constexpr Handle kMask = 0xffff'ffff'0000'0000;

  Handle numbers_ = 0;
};

}  // namespace tessera::preload
