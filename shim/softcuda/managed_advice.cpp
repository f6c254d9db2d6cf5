#include "managed_advice.hpp"

#include <algorithm>
#include <iterator>

namespace tessera::softcuda {

std::vector<Advice> ManagedAdvice::of(Address begin, Bytes bytes) {
  const MutexLock lock(mutex_);
  std::vector<Advice> found;
  for (const Advice* advice : stretches(begin, begin + bytes)) found.push_back(*advice);
  return found;
}

void ManagedAdvice::forget(Address begin, Bytes bytes) {
  const MutexLock lock(mutex_);
  split(begin);
  split(begin + bytes);
  by_begin_.erase(by_begin_.lower_bound(begin), by_begin_.lower_bound(begin + bytes));
}

void ManagedAdvice::split(Address at) {
  auto after = by_begin_.upper_bound(at);
  if (after == by_begin_.begin()) return;
  const auto holds = std::prev(after);
  if (holds->first == at || holds->second.end <= at) return;
  by_begin_.emplace_hint(after, at, holds->second);
  holds->second.end = at;
}

std::vector<Advice*> ManagedAdvice::stretches(Address begin, Address end) {
  split(begin);
  split(end);
  std::vector<Advice*> found;
  for (Address at = begin; at < end;) {
    auto next = by_begin_.lower_bound(at);
    if (next == by_begin_.end() || next->first != at) {
      const Address gap_end = next == by_begin_.end() ? end : std::min(end, next->first);
      next = by_begin_.emplace_hint(next, at, Stretch{gap_end, {}});
    }
    found.push_back(&next->second.advice);
    at = next->second.end;
  }
  return found;
}

}  // namespace tessera::softcuda
