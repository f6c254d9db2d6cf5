#include "pool_blocks.hpp"

namespace tessera::preload {

void PoolBlocks::add(CUdeviceptr address, PoolBlock block) {
  Place& place = place_of(address);
  CUdeviceptr before = 0;
  if (place.address.compare_exchange_strong(before, address) || before == address) {
    place.block.store(packed(block), std::memory_order_release);
    return;
  }
  const std::lock_guard<std::mutex> guard(lock_);
  others_[address] = packed(block);
  other_count_.store(others_.size());
}

std::optional<PoolBlock> PoolBlocks::remove(CUdeviceptr address) {
  Place& place = place_of(address);
  CUdeviceptr here = address;
  if (place.address.load() == address) {
    const std::uint64_t block = place.block.load(std::memory_order_acquire);
    if (place.address.compare_exchange_strong(here, 0)) return unpacked(block);
  }
  if (other_count_.load() == 0) return std::nullopt;
  const std::lock_guard<std::mutex> guard(lock_);
  const auto other = others_.find(address);
  if (other == others_.end()) return std::nullopt;
  const PoolBlock removed = unpacked(other->second);
  others_.erase(other);
  other_count_.store(others_.size());
  return removed;
}

std::optional<PoolBlock> PoolBlocks::find(CUdeviceptr address) {
  Place& place = place_of(address);
  if (place.address.load() == address) return unpacked(place.block.load(std::memory_order_acquire));
  if (other_count_.load() == 0) return std::nullopt;
  const std::lock_guard<std::mutex> guard(lock_);
  const auto other = others_.find(address);
  return other != others_.end() ? std::optional(unpacked(other->second)) : std::nullopt;
}

void PoolBlocks::clear() {
  for (Place& place : places_) place.address.store(0);
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
