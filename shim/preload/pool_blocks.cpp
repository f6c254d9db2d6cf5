#include "pool_blocks.hpp"

namespace tessera::preload {

void PoolBlocks::add(CUdeviceptr address) {
  CUdeviceptr before = 0;
  if (places_[place_of(address)].compare_exchange_strong(before, address) || before == address) return;
  const std::lock_guard<std::mutex> guard(lock_);
  others_.insert(address);
  other_count_.store(others_.size());
}

void PoolBlocks::remove(CUdeviceptr address) {
  std::atomic<CUdeviceptr>& place = places_[place_of(address)];
  CUdeviceptr here = address;
  if (place.load() == address && place.compare_exchange_strong(here, 0)) return;
  if (other_count_.load() == 0) return;
  const std::lock_guard<std::mutex> guard(lock_);
  others_.erase(address);
  other_count_.store(others_.size());
}

bool PoolBlocks::holds(CUdeviceptr address) {
  if (places_[place_of(address)].load() == address) return true;
  if (other_count_.load() == 0) return false;
  const std::lock_guard<std::mutex> guard(lock_);
  return others_.contains(address);
}

void PoolBlocks::clear() {
  for (std::atomic<CUdeviceptr>& place : places_) place.store(0);
  const std::lock_guard<std::mutex> guard(lock_);
  others_.clear();
  other_count_.store(0);
}

// Never destroyed: exit handlers may still free blocks.
PoolBlocks& pool_blocks() {
  static auto& all = *new PoolBlocks;
  return all;
}

}  // namespace tessera::preload
