#include "api/host_memory.hpp"

#include <fmt/core.h>

namespace tessera {

Result<void*> HostMemory::allocate(Bytes bytes, std::uint32_t mark) {
  if (!limit_) return Status(Code::kNotSupported, "host-blocks is 0: the driver serves pinned host memory");
  PinnedBlocks* blocks = made();
  if (blocks == nullptr) {
    const MutexLock lock(making_);
    if (blocks_ == nullptr) blocks_ = std::make_unique<PinnedBlocks>(driver_, host_, limit_, pages_);
    blocks = blocks_.get();
    made_.store(blocks, std::memory_order_release);
  }
  return blocks->allocate(bytes, mark);
}

Status HostMemory::free(const void* start) {
  if (PinnedBlocks* const blocks = made()) return blocks->free(start);
  return Status(Code::kNotFound, fmt::format("no block of pinned host memory starts at {}", start));
}

std::optional<PinnedBlocks::Block> HostMemory::find(const void* address) const {
  const PinnedBlocks* const blocks = made();
  return blocks == nullptr ? std::nullopt : blocks->find(address);
}

std::pair<std::uint64_t, std::uint64_t> HostMemory::range() const {
  const PinnedBlocks* const blocks = made();
  return blocks == nullptr ? std::pair<std::uint64_t, std::uint64_t>() : blocks->range();
}

void HostMemory::trim() {
  const MutexLock lock(making_);
  if (blocks_ != nullptr) blocks_->trim();
}

void HostMemory::end() {
  const MutexLock lock(making_);
  made_.store(nullptr, std::memory_order_release);
  blocks_.reset();
}

void HostMemory::note_beside(tessera_beside kind, Bytes bytes) {
  beside_[kind].store(bytes.value(), std::memory_order_relaxed);
}

void HostMemory::add_to(tessera_stats& stats) const {
  stats.driver_host_bytes = beside_[TESSERA_BESIDE_HOST].load(std::memory_order_relaxed);
  stats.registered_bytes = beside_[TESSERA_BESIDE_REGISTERED].load(std::memory_order_relaxed);
  const MutexLock lock(making_);
  if (blocks_ == nullptr) return;
  const PinnedBlocks::Usage usage = blocks_->usage();
  stats.host_blocks = usage.blocks;
  stats.host_block_bytes = usage.live.value();
  stats.host_block_peak = usage.peak_live.value();
  stats.host_block_pinned = usage.backed.value();
}

Status HostMemory::validate() const {
  const PinnedBlocks* const blocks = made();
  return blocks == nullptr ? Status() : blocks->validate();
}

}  // namespace tessera
