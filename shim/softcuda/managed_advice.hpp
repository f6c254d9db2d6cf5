// The program's hints about managed memory, by address range. Hints are reported back and have no effect here, where
// device and host can access all of it at any time.
//
// Thread safety: every call may be made from any thread.
//
// Invariants: ranges are not empty and do not overlap; memory outside any range has no hints.
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
  // Calls change(advice) for the whole range.
  template <class Change>
  void change(Address begin, Bytes bytes, Change change) {
    const MutexLock lock(mutex_);
    for (Advice* advice : stretches(begin, begin + bytes)) change(*advice);
  }
  // The hints of each part of the range.
  std::vector<Advice> of(Address begin, Bytes bytes);
  // For newly allocated memory.
  void forget(Address begin, Bytes bytes);

 private:
  struct Stretch {
    Address end;
    Advice advice;
  };

  // Splits the range that contains the address, so that one begins there.
  void split(Address at) REQUIRES_LOCK(mutex_);
  // The advice of all addresses from `begin` to `end`, created where there was none.
  std::vector<Advice*> stretches(Address begin, Address end) REQUIRES_LOCK(mutex_);

  Mutex mutex_{LockRank::kRegistry};
  std::map<Address, Stretch> by_begin_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
