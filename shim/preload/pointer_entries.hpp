// The words of tables of pointers: which place names which block, and which places name a block.
//
// Thread safety: none; its owner's lock (pointer_tables.hpp).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cuda_api.hpp"

namespace tessera::preload {

class PointerEntries {
 public:
  std::size_t size() const { return entries_.size(); }
  // What the word at `place` names, if it is an entry.
  std::optional<CUdeviceptr> at(CUdeviceptr place) const {
    const auto known = entries_.find(place);
    return known == entries_.end() ? std::nullopt : std::optional(known->second);
  }
  bool has_any(CUdeviceptr begin, CUdeviceptr end) const {
    const auto first = entries_.lower_bound(begin);
    return first != entries_.end() && first->first < end;
  }
  // Calls each(place, pointee) for the places in [begin, end), in order.
  template <class Each>
  void visit(CUdeviceptr begin, CUdeviceptr end, Each each) const {
    const auto last = entries_.lower_bound(end);
    for (auto at = entries_.lower_bound(begin); at != last; ++at) each(at->first, at->second);
  }

  void put(CUdeviceptr place, CUdeviceptr pointee);
  void erase(CUdeviceptr begin, CUdeviceptr end);
  // Erases an entry that names an address in [begin, end), and returns its place.
  std::optional<CUdeviceptr> take_naming(CUdeviceptr begin, CUdeviceptr end);
  void clear();

 private:
  std::map<CUdeviceptr, CUdeviceptr> entries_;            // place -> pointee
  std::set<std::pair<CUdeviceptr, CUdeviceptr>> places_;  // (pointee, place)
};

}  // namespace tessera::preload
