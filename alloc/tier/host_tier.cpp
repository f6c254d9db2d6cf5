#include "tier/host_tier.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"

namespace tessera {
namespace {

constexpr Bytes kChunk = 64_MiB;
constexpr Bytes kMostAhead = 512_MiB;

Frame frame_at(PageClass page_class, void* bytes) {
  return Frame{TierKind::kHost, page_class, reinterpret_cast<std::uint64_t>(bytes)};
}

// How much of a staging reserve may be adopted: half of it, but it stays good for a large page.
Bytes adoptable_of(Bytes reserve) {
  if (reserve < kLargePage) return reserve / 2;
  return std::min(reserve / 2, reserve - kLargePage);
}

}  // namespace

HostTier::HostTier(Driver& driver, Bytes capacity, Bytes staging, HostPages& pages)
    : arena_(driver, capacity, kChunk, pages),
      staging_arena_(driver, staging, std::max(staging, kBasePage), pages),
      capacity_(capacity),
      staging_capacity_(staging),
      adoptable_(adoptable_of(staging)) {}

// Room for pages on their way between device and file, or through a full host tier.
Bytes HostTier::staging_for(Bytes host, Bytes file) {
  if (!host && !file) return {};
  return std::clamp(host / 8, 2 * kLargePage, 8 * kLargePage);
}

HostTier::~HostTier() {
  const MutexLock lock(mutex_);
  DCHECK_EQ(used_, Bytes());
  DCHECK_EQ(staging_used_, Bytes());
}

// The arena is called without the lock: both are of one rank, and the driver may take long to pin.
Result<Frame> HostTier::take(PageClass page_class) {
  const Bytes bytes = page_bytes(page_class);
  {
    const MutexLock lock(mutex_);
    if (used_ + bytes > capacity_) return no_room(bytes, "the budget is in use");
    used_ += bytes;
  }
  void* const found = arena_.allocate(bytes);
  const MutexLock lock(mutex_);
  if (found == nullptr) {
    used_ -= bytes;
    return no_room(bytes, "no piece is large enough, or the machine has no more memory");
  }
  peak_used_ = std::max(peak_used_, used_);
  return frame_at(page_class, found);
}

void HostTier::give_back(Frame frame) {
  const bool adopted = staging_arena_.contains(bytes_of(frame));
  (adopted ? staging_arena_ : arena_).free(bytes_of(frame), frame.bytes());
  const MutexLock lock(mutex_);
  DCHECK_GE(used_, frame.bytes());
  used_ -= frame.bytes();
  if (adopted) adopted_ -= frame.bytes();
}

TierUsage HostTier::usage() const {
  const Bytes backed = arena_.backed();
  const MutexLock lock(mutex_);
  const Bytes in_arena = used_ - adopted_;
  const Bytes spare = backed > in_arena ? backed - in_arena : Bytes();
  return {capacity_, used_, std::min(spare, capacity_ - used_), peak_used_};
}

void HostTier::trim() {
  arena_.trim();
  staging_arena_.trim();
}

void HostTier::settle(unsigned node) {
  if (settled_.exchange(true)) return;
  arena_.settle(node);
  staging_arena_.settle(node);
}

bool HostTier::grow_ahead() {
  wish_.store(false, std::memory_order_relaxed);
  if (refused_ahead_.load(std::memory_order_relaxed)) return false;
  const TierUsage now = usage();
  const bool due = is_due(now);
  if (!due && !is_staging_due(now)) return false;
  const bool grown = (due ? arena_ : staging_arena_).grow();
  if (!grown) refused_ahead_.store(true, std::memory_order_relaxed);
  return grown;
}

bool HostTier::is_due(const TierUsage& now) const {
  const Bytes ahead = std::clamp(now.used / 4, kChunk, kMostAhead);
  return is_used(now) && now.spare < std::min(ahead, now.capacity - now.used);
}

bool HostTier::is_staging_due(const TierUsage& now) const {
  return is_used(now) && now.capacity - now.used < std::max(kChunk, now.capacity / 8) && staging_capacity_ &&
         !staging_arena_.backed();
}

Status HostTier::validate() const {
  TESSERA_TRY(arena_.validate());
  TESSERA_TRY(staging_arena_.validate());
  const MutexLock lock(mutex_);
  if (used_ > capacity_ || adopted_ > used_ || adopted_ > adoptable_ ||
      staging_used_ + adopted_ > staging_capacity_) {
    return Status(Code::kInternal,
                  fmt::format("host tier: {} of {} used; {} staging and {} adopted of {}",
                              used_.value(), capacity_.value(), staging_used_.value(),
                              adopted_.value(), staging_capacity_.value()));
  }
  return Status::ok();
}

Result<Frame> HostTier::take_staging(PageClass page_class) {
  const Bytes bytes = page_bytes(page_class);
  bool alone = false;
  {
    const MutexLock lock(mutex_);
    if (bytes > staging_capacity_) return no_room(bytes, "the staging reserve is smaller");
    if (staging_used_ + adopted_ + bytes > staging_capacity_) {
      return Status(Code::kBusy, fmt::format("staging reserve: {} bytes asked, {} of {} are out",
                                             bytes.value(), (staging_used_ + adopted_).value(),
                                             staging_capacity_.value()));
    }
    alone = !staging_used_;
    staging_used_ += bytes;
  }
  void* const found = staging_arena_.allocate(bytes);
  if (found != nullptr) return frame_at(page_class, found);
  const MutexLock lock(mutex_);
  staging_used_ -= bytes;
  if (alone) return no_room(bytes, "the machine refuses the staging reserve");
  return Status(Code::kBusy, "staging reserve: no piece is large enough until others come back");
}

void HostTier::give_back_staging(Frame frame) {
  staging_arena_.free(bytes_of(frame), frame.bytes());
  const MutexLock lock(mutex_);
  DCHECK_GE(staging_used_, frame.bytes());
  staging_used_ -= frame.bytes();
}

Status HostTier::adopt(const Frame& staging) {
  const Bytes bytes = staging.bytes();
  const Bytes end = staging_arena_.offset_of(bytes_of(staging)) + bytes;
  const MutexLock lock(mutex_);
  if (used_ + bytes > capacity_) return no_room(bytes, "the budget is in use");
  if (end > adoptable_) return no_room(bytes, "its place is kept for staging");
  DCHECK_GE(staging_used_, bytes);
  staging_used_ -= bytes;
  adopted_ += bytes;
  used_ += bytes;
  peak_used_ = std::max(peak_used_, used_);
  return Status::ok();
}

Status HostTier::no_room(Bytes bytes, const char* reason) const {
  return Status(Code::kOutOfMemory,
                fmt::format("host tier: {} bytes asked, {} of {} are in frames that are out: {}",
                            bytes.value(), used_.value(), capacity_.value(), reason));
}

}  // namespace tessera
