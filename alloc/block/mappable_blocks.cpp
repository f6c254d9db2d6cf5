#include "block/mappable_blocks.hpp"

#include <utility>

#include <fmt/core.h>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::uint32_t kMappablePool = 3;  // Domain::pool; shared_cache.cpp has the others

}  // namespace

Result<Address> MappableBlocks::create(Bytes bytes, TagId tag) {
  const auto size_class = size_class_for(bytes);
  if (!size_class || size_class->is_slot() || size_class->bytes() != bytes) {
    return Status(Code::kInvalidArgument, fmt::format("{} bytes are no whole pages", bytes.value()));
  }
  auto block = std::make_unique<MappableBlock>(*size_class, tag);
  const RunOwner owner{block.get(), BlockWord::raw({&block->word, 1}), {}};
  TESSERA_TRY_ASSIGN(block->run, pages_.acquire(bytes, Domain{kMappablePool, kNoStream, tag}, owner));
  make_live(*block);
  count_(bytes, true);
  const Address address = block->run->address;
  MutexLock lock(mutex_);
  blocks_.emplace(address, Entry{std::move(block), false});
  return address;
}

void MappableBlocks::make_live(MappableBlock& block) {
  block.run->fresh.store(true, std::memory_order_relaxed);
  block.run->live.store(1, std::memory_order_release);
  block.word.begin(Bytes());
}

Result<MappableBlock*> MappableBlocks::claim(Address address) {
  MutexLock lock(mutex_);
  const auto known = blocks_.find(address);
  if (known == blocks_.end()) {
    return Status(Code::kNotFound, fmt::format("no mappable block begins at {:#x}", address.value()));
  }
  if (known->second.busy) return Status(Code::kBusy, "another call moves the block");
  known->second.busy = true;
  return known->second.block.get();
}

// Ends a claim; the block may have another address now.
void MappableBlocks::settle(Address before, MappableBlock& block) {
  MutexLock lock(mutex_);
  auto entry = blocks_.extract(before);
  entry.key() = block.run->address;
  entry.mapped().busy = false;
  blocks_.insert(std::move(entry));
}

Status MappableBlocks::destroy(Address address) {
  TESSERA_TRY_ASSIGN(MappableBlock* const block, claim(address));
  block->word.end();
  (void)residency_.note_free(block->run, kNoStream);
  block->run->live.store(0, std::memory_order_release);
  const Bytes bytes = block->size_class.bytes();
  Status released = pages_.release(block->run);
  if (released.code() == Code::kBusy) {
    make_live(*block);
    settle(address, *block);
    return released;
  }
  count_(bytes, false);
  MutexLock lock(mutex_);
  blocks_.erase(address);
  return released;
}

// With automatic eviction off its pages have to be there before it is at an address that work may use.
Result<Address> MappableBlocks::move(Address address, std::optional<Address> to) {
  TESSERA_TRY_ASSIGN(MappableBlock* const block, claim(address));
  Status moved;
  if (to && !residency_.automatic().is_on()) moved = residency_.ensure(block->run, kNoStream);
  if (moved.is_ok()) moved = pages_.move(block->run, to);
  if (moved.is_ok() && to) {
    const Status there = residency_.ensure(block->run, kNoStream);
    if (!there.is_ok()) log_line(LogLevel::kDebug, "a block is fetched by its next use: {}", there.to_string());
  }
  const Address now = block->run->address;
  settle(address, *block);
  if (!moved.is_ok()) return moved;
  return now;
}

std::uint64_t MappableBlocks::blocks() const {
  MutexLock lock(mutex_);
  return blocks_.size();
}

void MappableBlocks::for_each(const std::function<void(const MappableBlock&)>& see) const {
  MutexLock lock(mutex_);
  for (const auto& [address, entry] : blocks_) see(*entry.block);
}

std::vector<std::unique_ptr<MappableBlock>> MappableBlocks::remove_all() {
  MutexLock lock(mutex_);
  std::vector<std::unique_ptr<MappableBlock>> all;
  for (auto& [address, entry] : blocks_) all.push_back(std::move(entry.block));
  blocks_.clear();
  return all;
}

}  // namespace tessera
