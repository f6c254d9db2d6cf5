// All address ranges known to this driver and their kinds; used to classify pointers.
//
// Thread safety: every call may be made from any thread; ranges are returned as copies.
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
  kDevice,       // cuMemAlloc and related calls
  kReservation,  // cuMemAddressReserve: usable where memory is mapped
  kHost,         // cuMemHostAlloc: pinned memory allocated here
  kRegistered,   // cuMemHostRegister: the program's own memory, pinned
  kGlobal,       // a module variable, in host memory like its code
};

struct Range {
  Address base;
  Bytes bytes;
  RangeKind kind = RangeKind::kDevice;
  Context* context = nullptr;
  std::uint64_t id = 0;                // never used twice
  unsigned flags = 0;                  // of the call that created it
  CUmemoryPool pool = nullptr;         // set for cuMemAllocAsync memory
  bool counted = false;                // in the amounts of that pool
  bool in_host_frame = false;          // kDevice: host memory that the device maps
  bool managed = false;                // kDevice: device and host may use it at any time; in a host frame too
  bool synchronous = false;            // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, as the program set it
  bool shareable = false;              // kDevice: other processes may import it
  std::optional<Bytes> imported = {};  // kDevice: another process's memory, at this offset in its file

  bool contains(Address address, Bytes count) const {
    return address >= base && count <= bytes && address - base <= bytes - count;
  }
  // Whether cuIpcGetMemHandle works for it.
  bool legacy_shareable() const { return kind == RangeKind::kDevice && pool == nullptr && !in_host_frame && !imported; }
  // Host memory, whose bytes the CPU may touch at any time.
  bool in_host() const { return kind != RangeKind::kDevice && kind != RangeKind::kReservation; }
};

// What a pool has allocated and not freed, as it was requested.
struct PoolUse {
  Bytes used;
  Bytes high, reserved_high;  // the most that was in use, since the last reset of each
};

class Ranges {
 public:
  // False, without effect, if it overlaps a known range.
  bool add(Range range);
  // The range that contains `address`.
  std::optional<Range> find(Address address);
  // False if no range contains `address`.
  bool set_synchronous(Address address, bool synchronous);
  // Removes the range of this kind that begins at `base`, if there is one.
  std::optional<Range> remove(Address base, RangeKind kind);
  // The range imported into `pool` from this offset, if it still exists.
  std::optional<Range> find_imported(CUmemoryPool pool, Bytes place);
  PoolUse use_of(CUmemoryPool pool);
  void reset_high(CUmemoryPool pool, Bytes PoolUse::*high);
  // The pool was destroyed.
  void forget_high(CUmemoryPool pool);
  // All ranges of one context.
  std::vector<Range> of(const Context* context);

 private:
  std::map<Address, Range>::iterator locate(Address address) REQUIRES_LOCK(mutex_);

  Mutex mutex_{LockRank::kTier};  // a leaf: taken while other locks are held
  std::map<Address, Range> by_base_ GUARDED_BY(mutex_);
  std::map<CUmemoryPool, PoolUse> uses_ GUARDED_BY(mutex_);  // of pools with counted ranges, or a high watermark
  std::uint64_t last_id_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera::softcuda
