#include "tier/host_region.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/size_text.hpp"

namespace tessera {
namespace {

// Alignment of chunks, so that the system can back them with huge pages; also the gap between two.
constexpr Bytes kChunkAlignment = 2_MiB;

std::uint64_t unit_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer) / HostRegion::kUnit.value();
}

// That other programs use it is how programs of a ledger share, and no fault.
void report_refusal(Bytes bytes, int why) {
  if (why == kHostPagesInUseElsewhere) {
    log_line(LogLevel::kInfo, "no further {} of host memory: other programs use it", rounded_size(bytes));
  } else {
    log_line(LogLevel::kWarning, "the machine refused {} of host memory: {}; a smaller --host-memory avoids this",
             rounded_size(bytes), std::strerror(why));
  }
}

}  // namespace

HostRegion::HostRegion(Driver& driver, Bytes capacity, Bytes chunk, HostPages& pages, Unregistered unregistered)
    : driver_(driver),
      pages_(pages),
      capacity_(capacity / kUnit * kUnit),
      chunk_(round_up(chunk, kUnit)),
      unregistered_(unregistered) {
  if (!capacity_) return;
  // Only the last chunk is shorter than chunk_, so this holds all chunks, their gaps and the start.
  reserved_ = capacity_ + (capacity_ / chunk_ + 2) * (2 * kChunkAlignment);
  void* const found = ::mmap(nullptr, reserved_.value(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) {
    const int why = errno;
    log_line(LogLevel::kWarning, "no host tier: {} of addresses cannot be reserved: {}; set a smaller --host-memory",
             rounded_size(reserved_), std::strerror(why));
    capacity_ = Bytes();
    reserved_ = Bytes();
    return;
  }
  base_ = static_cast<std::byte*>(found);
  const auto address = Bytes(reinterpret_cast<std::uint64_t>(found));
  const MutexLock growing(growth_);
  limit_ = capacity_;
  next_ = round_up(address, kChunkAlignment) - address;
  first_ = base_ + next_.value();
}

HostRegion::~HostRegion() {
  if (base_ == nullptr) return;
  const MutexLock growing(growth_);
  for (Chunk& chunk : chunks_) {
    if (chunk.backed) unback(chunk);
  }
  ::munmap(base_, reserved_.value());
}

void* HostRegion::take(Bytes bytes, Bytes alignment) {
  DCHECK_EQ(bytes % kUnit, Bytes());
  const MutexLock lock(mutex_);
  const auto unit = free_.take(bytes / kUnit, std::max(alignment / kUnit, std::uint64_t{1}));
  return unit ? reinterpret_cast<void*>(*unit * kUnit.value()) : nullptr;
}

void HostRegion::give(void* pointer, Bytes bytes) {
  DCHECK(contains(pointer));
  const MutexLock lock(mutex_);
  free_.give(unit_of(pointer), bytes / kUnit);
}

bool HostRegion::limit_to(Bytes bytes) {
  const MutexLock growing(growth_);
  if (backed() > bytes) return false;
  limit_ = std::min(capacity_, bytes / kUnit * kUnit);
  return true;
}

bool HostRegion::grow(Bytes bytes, std::optional<std::uint64_t> seen) {
  const MutexLock growing(growth_);
  if (seen && *seen != growths()) return true;
  const Bytes remaining = limit_ - backed();
  if (!remaining || bytes > remaining) return false;
  const Bytes piece = std::min(round_up(std::max(chunk_, bytes), kUnit), remaining);
  if (Chunk* const old = unbacked_chunk(bytes)) {
    Chunk& part = *split(old, piece);
    return back(part, std::min(part.bytes, piece));
  }
  Chunk chunk;
  chunk.bytes = piece;
  chunk.start = base_ + next_.value();
  const Bytes end = round_up(next_ + chunk.bytes, kChunkAlignment) + kChunkAlignment;
  if (end > reserved_ || !back(chunk, chunk.bytes)) return false;
  next_ = end;
  chunks_.push_back(chunk);
  return true;
}

// The lock is released between chunks, so a thread that needs a chunk waits for one at most.
void HostRegion::trim(Bytes bytes) {
  Bytes returned;
  for (std::size_t i = 0; returned < bytes; ++i) {
    const MutexLock growing(growth_);
    if (i >= chunks_.size()) return;
    Chunk& chunk = chunks_[i];
    if (!chunk.backed || !withdraw(chunk)) continue;
    returned += chunk.backed;
    unback(chunk);
  }
}

bool HostRegion::contains(const void* pointer) const {
  const auto* const byte = static_cast<const std::byte*>(pointer);
  return base_ != nullptr && byte >= base_ && byte < base_ + reserved_.value();
}

Bytes HostRegion::offset_of(const void* pointer) const {
  return Bytes(static_cast<std::uint64_t>(static_cast<const std::byte*>(pointer) - first_));
}

Bytes HostRegion::backed() const {
  const MutexLock lock(mutex_);
  return backed_;
}

Status HostRegion::validate() const {
  const MutexLock growing(growth_);
  const MutexLock lock(mutex_);
  TESSERA_TRY(free_.validate());
  Bytes backed;
  std::uint64_t free_in_chunks = 0;
  for (const Chunk& chunk : chunks_) {
    backed += chunk.backed;
    const std::uint64_t end = unit_of(chunk.start) + chunk.backed / kUnit;
    auto extent = free_.next_extent(unit_of(chunk.start));
    for (; extent && extent->start + extent->count <= end; extent = free_.next_extent(extent->start + extent->count)) {
      free_in_chunks += extent->count;
    }
  }
  if (backed != backed_ || backed_ > capacity_ || free_in_chunks != free_.free_count()) {
    return Status(Code::kInternal,
                  fmt::format("host region: chunks {}, backed {} of {}; {} free, {} in chunks", backed.value(),
                              backed_.value(), capacity_.value(), free_.free_count(), free_in_chunks));
  }
  return Status::ok();
}

// Backs the chunk and adds its memory to the free extents.
bool HostRegion::back(Chunk& chunk, Bytes bytes) {
  if (const int node = node_.load(std::memory_order_relaxed); node >= 0) {
    pages_.place(chunk.start, bytes, static_cast<unsigned>(node));
  }
  if (!pages_.open(chunk.start, bytes)) {
    const int why = errno;
    // Every eviction asks again; one line reports all refusals in a row.
    if (!refused_) report_refusal(bytes, why);
    refused_ = true;
    return false;
  }
  refused_ = false;
  if (!pin(chunk, bytes)) {
    pages_.close(chunk.start, bytes);
    return false;
  }
  chunk.backed = bytes;
  const MutexLock lock(mutex_);
  backed_ += bytes;
  free_.give(unit_of(chunk.start), bytes / kUnit);
  growths_.fetch_add(1, std::memory_order_release);
  return true;
}

// False if the chunk cannot be used, as the driver refused it.
bool HostRegion::pin(Chunk& chunk, Bytes bytes) {
  if (!pinned()) return true;
  const Status registered = driver_.register_host(chunk.start, bytes);
  chunk.registered = registered.is_ok();
  if (registered.is_ok()) return true;
  // At the end of the process: nothing will be copied.
  if (unregistered_ == Unregistered::kRefused || driver_has_ended(registered)) return false;
  pinned_.store(false, std::memory_order_relaxed);
  log_line(LogLevel::kWarning,
           "host memory cannot be pinned, so copies will be slower: {}; `tessera doctor` names the limit",
           registered.to_string());
  return true;
}

// Takes the chunk out of the free extents; false while a part of it is in use.
bool HostRegion::withdraw(const Chunk& chunk) {
  const MutexLock lock(mutex_);
  // Gaps keep extents inside chunks, so a chunk is free when it is one extent.
  return free_.take_exactly(unit_of(chunk.start), chunk.backed / kUnit);
}

// Returns the chunk's memory to the machine. REQUIRES: none of it is free or in use.
void HostRegion::unback(Chunk& chunk) {
  if (chunk.registered) {
    const Status unregistered = driver_.unregister_host(chunk.start);
    if (!unregistered.is_ok()) {
      log_line(LogLevel::kWarning, "host memory could not be unpinned: {}", unregistered.to_string());
    }
    chunk.registered = false;
  }
  pages_.close(chunk.start, chunk.backed);
  const MutexLock lock(mutex_);
  backed_ -= chunk.backed;
  chunk.backed = Bytes();
}

// The first that is large enough, after neighbours that are not backed were merged: with requests of many sizes, the
// addresses would be used up otherwise.
HostRegion::Chunk* HostRegion::unbacked_chunk(Bytes bytes) {
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    Chunk& chunk = chunks_[i];
    if (chunk.backed) continue;
    while (i + 1 < chunks_.size() && !chunks_[i + 1].backed) {
      const Chunk& next = chunks_[i + 1];
      chunk.bytes = Bytes(static_cast<std::uint64_t>(next.start - chunk.start)) + next.bytes;
      chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    if (chunk.bytes >= bytes) return &chunk;
  }
  return nullptr;
}

// Makes the addresses behind the first `bytes` a chunk of their own if they are enough for one. Returns the first part.
HostRegion::Chunk* HostRegion::split(Chunk* chunk, Bytes bytes) {
  const auto start = Bytes(reinterpret_cast<std::uint64_t>(chunk->start));
  const Bytes next = round_up(start + bytes, kChunkAlignment) + kChunkAlignment - start;
  if (next + chunk_ > chunk->bytes) return chunk;
  const auto index = chunk - chunks_.data();
  Chunk rest;
  rest.start = chunk->start + next.value();
  rest.bytes = chunk->bytes - next;
  chunk->bytes = bytes;
  chunks_.insert(chunks_.begin() + index + 1, rest);
  return &chunks_[static_cast<std::size_t>(index)];
}

}  // namespace tessera
