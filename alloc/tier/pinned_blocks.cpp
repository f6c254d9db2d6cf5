#include "tier/pinned_blocks.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/page_class.hpp"

namespace tessera {
namespace {

constexpr Bytes kPage = HostRegion::kUnit;
constexpr Bytes kSmallGrain = 512_B;
// From here on a block has pages of its own, and takes no more of them than it needs.
constexpr Bytes kFirstLarge = 16_KiB;
constexpr Bytes kLargestChunk = 8_MiB;
constexpr std::uint64_t kChunksInLimit = 64;
// More is returned to the arena, from where it is found again a little more slowly.
constexpr Bytes kMostCached = 512_MiB;

Bytes alignment_of(Bytes whole) { return whole < kPage ? kSmallGrain : kPage; }

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

void* pointer_to(std::uint64_t address) { return reinterpret_cast<void*>(address); }

Bytes chunk_for(Bytes limit) {
  return std::clamp(limit / kChunksInLimit / kBasePage * kBasePage, kBasePage, kLargestChunk);
}

}  // namespace

PinnedBlocks::PinnedBlocks(Driver& driver, HostTier& host, Bytes limit, HostPages& pages)
    : host_(host),
      limit_(limit / kBasePage * kBasePage),
      chunk_(chunk_for(limit)),
      arena_(driver, limit_, chunk_, pages, HostRegion::Unregistered::kRefused) {}

PinnedBlocks::~PinnedBlocks() { host_.take_back(arena_.backed()); }

Result<void*> PinnedBlocks::allocate(Bytes bytes, std::uint32_t mark) {
  if (!bytes || bytes > limit_) {
    return Status(Code::kOutOfMemory, fmt::format("{} bytes of pinned host memory requested: at most {} are allowed",
                                                  bytes.value(), limit_.value()));
  }
  const Bytes whole = round_up(bytes, bytes < kPage ? kSmallGrain : kPage);
  if (void* const known = reuse(bytes, whole, mark)) return known;
  void* found = take(whole);
  if (found == nullptr && drop_cached()) found = take(whole);
  if (found == nullptr) {
    return Status(Code::kOutOfMemory, fmt::format("{} bytes of pinned host memory requested: {} of {} are in use",
                                                  bytes.value(), arena_.backed().value(), limit_.value()));
  }
  const MutexLock lock(mutex_);
  Record& record = records_[address_of(found)];
  record.block.start = address_of(found);
  record.whole = whole;
  begin(record, bytes, mark);
  return found;
}

void* PinnedBlocks::reuse(Bytes bytes, Bytes whole, std::uint32_t mark) {
  const MutexLock lock(mutex_);
  const auto same = cached_.find(whole);
  if (same == cached_.end() || same->second.empty()) return nullptr;
  Record& record = same->second.back()->second;
  same->second.pop_back();
  usage_.cached -= whole;
  begin(record, bytes, mark);
  return pointer_to(record.block.start);
}

void PinnedBlocks::begin(Record& record, Bytes bytes, std::uint32_t mark) {
  record.live = true;
  record.block.bytes = bytes;
  record.block.id = ++last_id_;
  record.block.mark = mark;
  ++usage_.blocks;
  ++usage_.allocations;
  usage_.live += bytes;
  usage_.peak_live = std::max(usage_.peak_live, usage_.live);
}

Status PinnedBlocks::free(const void* start) {
  Bytes whole;
  {
    const MutexLock lock(mutex_);
    const auto found = records_.find(address_of(start));
    if (found == records_.end() || !found->second.live) {
      return Status(Code::kNotFound, fmt::format("no live block of pinned host memory starts at {}", start));
    }
    Record& record = found->second;
    record.live = false;
    --usage_.blocks;
    usage_.live -= record.block.bytes;
    whole = record.whole;
    if (usage_.cached + whole <= kMostCached) {
      cached_[whole].push_back(found);
      usage_.cached += whole;
      return {};
    }
    records_.erase(found);
  }
  give(pointer_to(address_of(start)), whole);
  return {};
}

std::optional<PinnedBlocks::Block> PinnedBlocks::find(const void* address) const {
  const MutexLock lock(mutex_);
  auto after = records_.upper_bound(address_of(address));
  if (after == records_.begin()) return std::nullopt;
  const Record& record = std::prev(after)->second;
  const Bytes offset(address_of(address) - record.block.start);
  if (!record.live || offset >= record.block.bytes) return std::nullopt;
  return record.block;
}

void PinnedBlocks::trim() {
  drop_cached();
  const MutexLock growing(growing_);
  const Bytes before = arena_.backed();
  arena_.trim();
  host_.take_back(before - arena_.backed());
}

PinnedBlocks::Usage PinnedBlocks::usage() const {
  const Bytes backed = arena_.backed();
  const MutexLock lock(mutex_);
  Usage usage = usage_;
  usage.backed = backed;
  return usage;
}

Status PinnedBlocks::validate() const {
  TESSERA_TRY(arena_.validate());
  const Bytes backed = arena_.backed();
  const MutexLock lock(mutex_);
  Bytes all, cached;
  std::uint64_t end = 0;
  for (const auto& [start, record] : records_) {
    if (start < end || !arena_.contains(pointer_to(start))) {
      return Status(Code::kInternal, fmt::format("pinned block at {:#x}: outside the arena, or in another", start));
    }
    end = start + record.whole.value();
    all += record.whole;
    if (!record.live) cached += record.whole;
  }
  if (all <= backed && cached == usage_.cached) return {};
  return Status(Code::kInternal, fmt::format("pinned blocks: {} of {} backed, {} cached, {} counted", all.value(),
                                             backed.value(), cached.value(), usage_.cached.value()));
}

void* PinnedBlocks::take(Bytes whole) {
  const HostArena::Growth growth = [this](Bytes bytes, std::uint64_t seen) { return grow(bytes, seen); };
  return whole < kFirstLarge ? arena_.allocate_small(whole, alignment_of(whole), growth)
                             : arena_.allocate_exactly(whole, growth);
}

void PinnedBlocks::give(void* start, Bytes whole) {
  if (whole < kFirstLarge) {
    arena_.free_small(start, whole, alignment_of(whole));
  } else {
    arena_.free_exactly(start, whole);
  }
}

// Backs one more chunk as far as the host tier lends it: of the usual size, or else just for this block. Chunks are
// multiples of a page, so that what remains of the budget is too.
bool PinnedBlocks::grow(Bytes bytes, std::uint64_t seen) {
  const MutexLock growing(growing_);
  const Bytes before = arena_.backed(), room = limit_ - before;
  const Bytes least = round_up(bytes, kBasePage);
  if (least > room) return false;
  Bytes piece = std::min(std::max(least, chunk_), room);
  if (!host_.lend(piece)) {
    if (piece == least || !host_.lend(least)) return false;
    piece = least;
  }
  const bool limited = arena_.limit_to(before + piece);
  const bool grown = limited && arena_.grow(piece, seen);
  host_.take_back(piece - (arena_.backed() - before));
  return grown;
}

bool PinnedBlocks::drop_cached() {
  std::vector<std::pair<std::uint64_t, Bytes>> dropped;
  {
    const MutexLock lock(mutex_);
    for (auto& [whole, blocks] : cached_) {
      for (const Records::iterator block : blocks) {
        dropped.emplace_back(block->first, whole);
        records_.erase(block);
      }
    }
    cached_.clear();
    usage_.cached = Bytes();
  }
  for (const auto& [start, whole] : dropped) give(pointer_to(start), whole);
  return !dropped.empty();
}

}  // namespace tessera
