#include "foreign_ranges.hpp"

#include "lifecycle.hpp"

namespace tessera::preload {

void ForeignRanges::add(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard<std::mutex> guard(mutex_);
  ranges_[address] = bytes;
  detail::launch_facts.has_gaps.store(true);
}

void ForeignRanges::remove(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard<std::mutex> guard(mutex_);
  ranges_.erase(ranges_.lower_bound(address), ranges_.lower_bound(address + bytes));
}

bool ForeignRanges::holds(CUdeviceptr address) {
  const std::lock_guard<std::mutex> guard(mutex_);
  auto range = ranges_.upper_bound(address);
  if (range == ranges_.begin()) return false;
  --range;
  return address - range->first < range->second;
}

void ForeignRanges::clear() {
  const std::lock_guard<std::mutex> guard(mutex_);
  ranges_.clear();
}

// Never destroyed: exit handlers may unmap.
ForeignRanges& foreign_ranges() {
  static auto& one = *new ForeignRanges;
  return one;
}

}  // namespace tessera::preload
