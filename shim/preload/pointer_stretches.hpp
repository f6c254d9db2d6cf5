// The stretches of tables of pointers: bytes that copies wrote without a gap, each with an entry.
//
// Thread safety: its owner's lock (pointer_tables.hpp); pass() also where that is shared.
#pragma once

#include <atomic>
#include <map>

#include "cuda_api.hpp"
#include "pointer_entries.hpp"

namespace tessera::preload {

class PointerStretches {
 public:
  struct Stretch {
    CUdeviceptr end = 0;
    mutable std::atomic<bool> passed{false};  // a launch was given a word at or before it, in its block

    bool is_passed() const { return passed.load(std::memory_order_relaxed); }
    void pass() const { passed.store(true, std::memory_order_relaxed); }
  };
  using Map = std::map<CUdeviceptr, Stretch>;  // by first byte
  using At = Map::const_iterator;

  // Calls act(stretch) for every stretch with bytes in [begin, end), in order.
  template <class Act>
  void for_each(CUdeviceptr begin, CUdeviceptr end, Act act) const {
    for (At at = at_or_behind(begin); at != stretches_.end() && at->first < end; ++at) act(at);
  }

  // [begin, end) becomes one stretch, together with those that overlap it, and with adjacent ones that have not been
  // passed.
  void join(CUdeviceptr begin, CUdeviceptr end);
  // Takes these bytes out. The remains on either side stay stretches if they have entries.
  void cut(CUdeviceptr begin, CUdeviceptr end, const PointerEntries& entries);
  // An entry there was erased: its stretch goes unless it has others.
  void drop_if_bare(CUdeviceptr place, const PointerEntries& entries);
  void clear() { stretches_.clear(); }

 private:
  // The first stretch that ends behind `address`.
  At at_or_behind(CUdeviceptr address) const;
  void put(CUdeviceptr begin, CUdeviceptr end, bool passed);

  Map stretches_;
};

}  // namespace tessera::preload
