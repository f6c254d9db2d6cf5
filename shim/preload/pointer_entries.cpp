#include "pointer_entries.hpp"

namespace tessera::preload {

void PointerEntries::put(CUdeviceptr place, CUdeviceptr pointee) {
  if (const auto known = entries_.find(place); known != entries_.end()) places_.erase({known->second, place});
  entries_[place] = pointee;
  places_.emplace(pointee, place);
}

void PointerEntries::erase(CUdeviceptr begin, CUdeviceptr end) {
  const auto last = entries_.lower_bound(end);
  for (auto at = entries_.lower_bound(begin); at != last; at = entries_.erase(at)) {
    places_.erase({at->second, at->first});
  }
}

std::optional<CUdeviceptr> PointerEntries::take_naming(CUdeviceptr begin, CUdeviceptr end) {
  const auto first = places_.lower_bound({begin, 0});
  if (first == places_.end() || first->first >= end) return std::nullopt;
  const CUdeviceptr place = first->second;
  places_.erase(first);
  entries_.erase(place);
  return place;
}

void PointerEntries::clear() {
  entries_.clear();
  places_.clear();
}

}  // namespace tessera::preload
