// What a program has said about managed memory, by stretches of addresses: hints, which are told again and change
// nothing here, where device and host reach all of it at all times.
//
// Thread safety: every call may be made from any thread.
//
// Invariants: stretches are not empty and do not overlap; where there is none, nothing was said.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/mutex.hpp"
#include "base/units.hpp"
#include "cuda_api.hpp"

namespace tessera::softcuda {

struct Advice {
  bool read_mostly = false;
  CUmemLocation preferred{CU_MEM_LOCATION_TYPE_INVALID, 0};
  CUmemLocation prefetched{CU_MEM_LOCATION_TYPE_INVALID, 0};
  std::set<int> accessed_by;  // devices, and CU_DEVICE_CPU
};

class ManagedAdvice {
 public:
  // `change(advice)` for all of the range.
  template <class Change>
  void change(Address begin, Bytes bytes, Change change) {
    const MutexLock lock(mutex_);
    for (Advice* advice : stretches(begin, begin + bytes)) change(*advice);
  }
  // What was said of each stretch of the range.
  std::vector<Advice> of(Address begin, Bytes bytes);
  // For memory that begins anew.
  void forget(Address begin, Bytes bytes);

 private:
  struct Stretch {
    Address end;
    Advice advice;
  };

  // A stretch begins there, if one holds the address.
  void split(Address at) REQUIRES_LOCK(mutex_);
  // Of all addresses from `begin` to `end`, made where there were none.
  std::vector<Advice*> stretches(Address begin, Address end) REQUIRES_LOCK(mutex_);

  Mutex mutex_{LockRank::kRegistry};
  std::map<Address, Stretch> by_begin_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
