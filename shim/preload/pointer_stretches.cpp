#include "pointer_stretches.hpp"

#include <algorithm>
#include <iterator>

namespace tessera::preload {

PointerStretches::At PointerStretches::at_or_behind(CUdeviceptr address) const {
  At at = stretches_.upper_bound(address);
  if (at != stretches_.begin() && std::prev(at)->second.end > address) --at;
  return at;
}

void PointerStretches::put(CUdeviceptr begin, CUdeviceptr end, bool passed) {
  Stretch& stretch = stretches_[begin];
  stretch.end = end;
  stretch.passed.store(passed, std::memory_order_relaxed);
}

void PointerStretches::join(CUdeviceptr begin, CUdeviceptr end) {
  bool passed = false;
  At at = at_or_behind(begin == 0 ? 0 : begin - 1);
  while (at != stretches_.end() && at->first <= end) {
    const bool touches = at->second.end == begin || at->first == end;
    const bool is_passed = at->second.is_passed();
    if (touches && is_passed) {
      ++at;
      continue;
    }
    begin = std::min(begin, at->first);
    end = std::max(end, at->second.end);
    passed = passed || is_passed;
    at = stretches_.erase(at);
  }
  put(begin, end, passed);
}

void PointerStretches::cut(CUdeviceptr begin, CUdeviceptr end, const PointerEntries& entries) {
  At at = at_or_behind(begin);
  while (at != stretches_.end() && at->first < end) {
    const CUdeviceptr first = at->first, last = at->second.end;
    const bool passed = at->second.is_passed();
    at = stretches_.erase(at);
    if (first < begin && entries.has_any(first, begin)) put(first, begin, passed);
    if (last > end && entries.has_any(end, last)) put(end, last, passed);
  }
}

void PointerStretches::drop_if_bare(CUdeviceptr place, const PointerEntries& entries) {
  const At stretch = at_or_behind(place);
  if (stretch != stretches_.end() && !entries.has_any(stretch->first, stretch->second.end)) stretches_.erase(stretch);
}

}  // namespace tessera::preload
