#include "ranges.hpp"

#include <algorithm>

namespace tessera::softcuda {

bool Ranges::add(Range range) {
  const MutexLock lock(mutex_);
  const auto next = by_base_.lower_bound(range.base);
  if (next != by_base_.end() && next->first < range.base + range.bytes) return false;
  if (locate(range.base) != by_base_.end()) return false;
  range.id = ++last_id_;
  if (range.counted) {
    PoolUse& use = uses_[range.pool];
    use.used += range.bytes;
    use.high = std::max(use.high, use.used);
    use.reserved_high = std::max(use.reserved_high, use.used);
  }
  by_base_.emplace_hint(next, range.base, range);
  return true;
}

std::optional<Range> Ranges::find(Address address) {
  const MutexLock lock(mutex_);
  const auto found = locate(address);
  if (found == by_base_.end()) return std::nullopt;
  return found->second;
}

bool Ranges::set_synchronous(Address address, bool synchronous) {
  const MutexLock lock(mutex_);
  const auto found = locate(address);
  if (found == by_base_.end()) return false;
  found->second.synchronous = synchronous;
  return true;
}

std::optional<Range> Ranges::remove(Address base, RangeKind kind) {
  const MutexLock lock(mutex_);
  const auto found = by_base_.find(base);
  if (found == by_base_.end() || found->second.kind != kind) return std::nullopt;
  const Range range = found->second;
  by_base_.erase(found);
  if (range.counted) uses_[range.pool].used -= range.bytes;
  return range;
}

PoolUse Ranges::use_of(CUmemoryPool pool) {
  const MutexLock lock(mutex_);
  const auto use = uses_.find(pool);
  return use != uses_.end() ? use->second : PoolUse{};
}

void Ranges::reset_high(CUmemoryPool pool, Bytes PoolUse::*high) {
  const MutexLock lock(mutex_);
  const auto use = uses_.find(pool);
  if (use != uses_.end()) use->second.*high = use->second.used;
}

void Ranges::forget_high(CUmemoryPool pool) {
  const MutexLock lock(mutex_);
  const auto use = uses_.find(pool);
  if (use != uses_.end() && !use->second.used) uses_.erase(use);
}

std::optional<Range> Ranges::find_imported(CUmemoryPool pool, Bytes place) {
  const MutexLock lock(mutex_);
  for (const auto& [base, range] : by_base_) {
    if (range.pool == pool && range.imported == place) return range;
  }
  return std::nullopt;
}

std::vector<Range> Ranges::of(const Context* context) {
  std::vector<Range> found;
  const MutexLock lock(mutex_);
  for (const auto& [base, range] : by_base_) {
    if (range.context == context) found.push_back(range);
  }
  return found;
}

std::map<Address, Range>::iterator Ranges::locate(Address address) {
  auto after = by_base_.upper_bound(address);
  if (after == by_base_.begin()) return by_base_.end();
  --after;
  return after->second.contains(address, Bytes(1)) ? after : by_base_.end();
}

}  // namespace tessera::softcuda
