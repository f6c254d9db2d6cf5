// Every range of addresses that this driver knows, and what it is: the answer to "whose pointer?".
//
// Thread safety: every call may be made from any thread; ranges are handed out as copies.
//
// Invariants: ranges are not empty and do not overlap.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "base/units.hpp"
#include "context.hpp"

namespace tessera::softcuda {

enum class RangeKind : std::uint8_t {
  kDevice,       // cuMemAlloc and its kin
  kReservation,  // cuMemAddressReserve: usable where something is mapped
  kHost,         // cuMemHostAlloc: pinned memory of ours
  kRegistered,   // cuMemHostRegister: pinned memory of the program
  kGlobal,       // a variable of a module, in host memory like its code
};

struct Range {
  Address base;
  Bytes bytes;
  RangeKind kind = RangeKind::kDevice;
  Context* context = nullptr;
  std::uint64_t id = 0;    // never used twice
  unsigned flags = 0;      // of the call that made it
  CUmemoryPool pool = nullptr;  // from which cuMemAllocAsync took it, if it did
  bool in_host_frame = false;  // kDevice: host memory that the device maps
  bool managed = false;        // kDevice: device and host may use it at any time; in a host frame too
  bool synchronous = false;  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, as the program set it

  bool contains(Address address, Bytes count) const {
    return address >= base && count <= bytes && address - base <= bytes - count;
  }
  // Whether a legacy handle for other processes can be had.
  bool legacy_shareable() const { return kind == RangeKind::kDevice && pool == nullptr && !in_host_frame; }
  // Host memory, whose bytes the CPU may touch at any time.
  bool in_host() const { return kind != RangeKind::kDevice && kind != RangeKind::kReservation; }
};

class Ranges {
 public:
  // False, and nothing done, when it overlaps a known range.
  bool add(Range range);
  // The range that holds `address`.
  std::optional<Range> find(Address address);
  // False when no range holds `address`.
  bool set_synchronous(Address address, bool synchronous);
  // Takes away the range that begins at `base`, if there is one of this kind.
  std::optional<Range> remove(Address base, RangeKind kind);
  // All ranges of one context.
  std::vector<Range> of(const Context* context);

 private:
  std::map<Address, Range>::iterator locate(Address address) REQUIRES_LOCK(mutex_);

  Mutex mutex_{LockRank::kTier};  // a leaf: taken while others are held
  std::map<Address, Range> by_base_ GUARDED_BY(mutex_);
  std::uint64_t last_id_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera::softcuda
