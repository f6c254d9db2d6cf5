#include "tier/host_tier.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/check.hpp"

namespace tessera {
namespace {

constexpr Bytes kChunk = 64_MiB;
constexpr std::uint64_t kSharedChunks = 64;
constexpr Bytes kMostAhead = 512_MiB;
// The part of the budget that is not lent once there are pages.
constexpr std::uint64_t kKeptForPages = 8;

Frame frame_at(PageClass page_class, void* bytes) {
  return Frame{.tier = Location::kHost, .page_class = page_class, .value = reinterpret_cast<std::uint64_t>(bytes)};
}

// How much of a staging reserve may be adopted: half, but with room left for a large page.
Bytes adoptable_of(Bytes reserve) {
  if (reserve < kLargePage) return reserve / 2;
  return std::min(reserve / 2, reserve - kLargePage);
}

// Small enough that what one program returns is not held up by a page in use.
Bytes shared_chunk(Bytes capacity) {
  return std::clamp(capacity / kSharedChunks / kBasePage * kBasePage, kBasePage, kChunk);
}

}  // namespace

HostTier::HostTier(Driver& driver, Bytes capacity, Bytes staging, HostPages& pages, HostPages* shared)
    : driver_(driver),
      pages_(pages),
      region_(driver, capacity, shared == nullptr ? kChunk : shared_chunk(capacity),
              shared == nullptr ? pages : *shared),
      capacity_(capacity),
      staging_capacity_(staging),
      adoptable_(adoptable_of(staging)) {}

// Room for pages on their way between device and file, or through a full host tier.
Bytes HostTier::staging_for(Bytes host, Bytes file) {
  if (!host && !file) return {};
  return std::clamp(host / 8, 2 * kLargePage, 8 * kLargePage);
}

// In chunks that each hold a large frame: the upper half, which is never adopted, contains at least one chunk.
HostTier::Reserve::Reserve(Driver& driver, Bytes bytes, HostPages& pages)
    : region(driver, bytes,
             std::max(bytes / std::max(bytes / kLargePage, std::uint64_t{1}) / kBasePage * kBasePage, kBasePage),
             pages) {}

HostTier::~HostTier() {
  grower_.reset();
  const MutexLock lock(mutex_);
  DCHECK_EQ(used_, Bytes());
  DCHECK_EQ(lent_, Bytes());
  for (const auto& [device, reserve] : reserves_) DCHECK_EQ(reserve->used, Bytes());
}

void HostTier::add_reserve(DeviceId device) {
  auto made = std::make_unique<Reserve>(driver_, staging_capacity_, pages_);
  std::optional<unsigned> node;
  Reserve* added = nullptr;
  {
    const MutexLock lock(mutex_);
    const auto [entry, is_new] = reserves_.try_emplace(device, std::move(made));
    if (!is_new) return;
    added = entry->second.get();
    node = node_;
  }
  if (node) added->region.settle(*node);
}

// The region is called without the lock: both have the same rank, and the driver may take long to pin.
Result<Frame> HostTier::take(PageClass page_class) {
  const Bytes bytes = page_bytes(page_class);
  {
    const MutexLock lock(mutex_);
    if (used_ + bytes > capacity_ - lent_) return no_room(bytes, "the budget is used up");
    used_ += bytes;
  }
  void* const found = allocate(region_, bytes);
  {
    const MutexLock lock(mutex_);
    if (found == nullptr) {
      used_ -= bytes;
      return no_room(bytes, "no free extent is large enough, or the machine has no more memory");
    }
    note_peaks();
  }
  grow_if_due();
  return frame_at(page_class, found);
}

// The bytes are counted as free only once they are: a reader of the count may take them at once.
void HostTier::give_back(Frame frame) {
  Reserve* reserve = nullptr;
  {
    const MutexLock lock(mutex_);
    reserve = reserve_with(frame);
  }
  (reserve != nullptr ? reserve->region : region_).give(bytes_of(frame), frame.bytes());
  {
    const MutexLock lock(mutex_);
    DCHECK_GE(used_, frame.bytes());
    used_ -= frame.bytes();
    if (reserve != nullptr) reserve->adopted -= frame.bytes();
  }
  if (shed_due_.load(std::memory_order_relaxed) != 0 && grower_ != nullptr) grower_->kick();
}

TierUsage HostTier::usage() const {
  const Bytes backed = region_.backed();
  const MutexLock lock(mutex_);
  const Bytes in_region = used_ - adopted();
  const Bytes spare = backed > in_region ? backed - in_region : Bytes();
  const Bytes own = capacity_ - lent_;
  return {own, used_, std::min(spare, own - used_), peak_used_};
}

TierUsage HostTier::usage_with_staging() const {
  const Bytes in_regions = backed();
  const auto all = reserves();
  const MutexLock lock(mutex_);
  const Bytes used = used_ + staged_ + lent_, backed = in_regions + lent_;
  return {capacity_ + staging_capacity_ * all.size(), used, backed > used ? backed - used : Bytes(), peak_in_all_};
}

void HostTier::note_peaks() {
  peak_used_ = std::max(peak_used_, used_);
  peak_in_all_ = std::max(peak_in_all_, used_ + staged_ + lent_);
}

// Of all regions.
Bytes HostTier::backed() const {
  Bytes bytes = region_.backed();
  for (const Reserve* const reserve : reserves()) bytes += reserve->region.backed();
  return bytes;
}

Bytes HostTier::lent() const {
  const MutexLock lock(mutex_);
  return lent_;
}

bool HostTier::lend(Bytes bytes) {
  const MutexLock lending(lending_);
  Bytes own;
  {
    const MutexLock lock(mutex_);
    const bool wanted = used_ || expected_.load(std::memory_order_relaxed);
    const Bytes kept = wanted ? capacity_ / kKeptForPages : Bytes();
    if (used_ + lent_ + bytes + kept > capacity_) return false;
    lent_ += bytes;
    own = capacity_ - lent_;
  }
  bool lowered = region_.limit_to(own);
  if (!lowered) {
    region_.trim();
    lowered = region_.limit_to(own);
  }
  const MutexLock lock(mutex_);
  if (lowered) {
    note_peaks();
  } else {
    lent_ -= bytes;
  }
  return lowered;
}

void HostTier::take_back(Bytes bytes) {
  if (!bytes) return;
  const MutexLock lending(lending_);
  Bytes own;
  {
    const MutexLock lock(mutex_);
    DCHECK_GE(lent_, bytes);
    lent_ -= bytes;
    own = capacity_ - lent_;
  }
  const bool raised = region_.limit_to(own);
  DCHECK(raised);
}

bool HostTier::reclaim() {
  const Bytes before = lent();
  if (!before || !give_back_) return false;
  give_back_();
  return lent() < before;
}

Bytes HostTier::shed(Bytes bytes) {
  const Bytes before = region_.backed() + lent();
  region_.trim(bytes);
  if (before - std::min(before, region_.backed() + lent()) < bytes) reclaim();
  const Bytes returned = before - std::min(before, region_.backed() + lent());
  shed_due_.store((bytes - std::min(bytes, returned)).value(), std::memory_order_relaxed);
  return returned;
}

void HostTier::retry_ahead() {
  if (!yielded_.load(std::memory_order_relaxed)) refused_ahead_.store(false, std::memory_order_relaxed);
}

Bytes HostTier::yield() {
  yielded_.store(true, std::memory_order_relaxed);
  refused_ahead_.store(true, std::memory_order_relaxed);
  if (grower_ != nullptr) grower_->finish_piece();
  const Bytes before = backed() + lent();
  reclaim();
  trim();
  const Bytes after = backed() + lent();
  return before - std::min(before, after);
}

void HostTier::trim() {
  region_.trim();
  for (Reserve* const reserve : reserves()) reserve->region.trim();
}

bool HostTier::pinned() const {
  const auto all = reserves();
  return region_.pinned() &&
         std::all_of(all.begin(), all.end(), [](const Reserve* reserve) { return reserve->region.pinned(); });
}

void HostTier::settle(unsigned node) {
  {
    const MutexLock lock(mutex_);
    if (node_) return;
    node_ = node;
  }
  region_.settle(node);
  for (Reserve* const reserve : reserves()) reserve->region.settle(node);
}

// For queries of their regions, which are made without the lock.
std::vector<HostTier::Reserve*> HostTier::reserves() const {
  const MutexLock lock(mutex_);
  std::vector<Reserve*> all;
  for (const auto& [device, reserve] : reserves_) all.push_back(reserve.get());
  return all;
}

// Null: the frame is from the budget's own region.
HostTier::Reserve* HostTier::reserve_with(const Frame& frame) const {
  const auto found = std::find_if(reserves_.begin(), reserves_.end(), [&frame](const auto& entry) {
    return entry.second->region.contains(bytes_of(frame));
  });
  return found == reserves_.end() ? nullptr : found->second.get();
}

Bytes HostTier::adopted() const {
  Bytes bytes;
  for (const auto& [device, reserve] : reserves_) bytes += reserve->adopted;
  return bytes;
}

void HostTier::grow_in_background() {
  grower_ = std::make_unique<HostGrower>([this] { return grow_ahead(); });
}

void HostTier::expect_use() {
  if (!expected_.exchange(true, std::memory_order_relaxed) && grower_ != nullptr) grower_->kick();
}

// Without a size class in between: pages fit together, and the region merges what is returned.
void* HostTier::allocate(HostRegion& region, Bytes bytes) {
  return region.take_or_grow(bytes, [&](std::uint64_t seen) {
    const auto grow = [&region, bytes, seen] { return region.grow(bytes, seen); };
    return grower_ == nullptr ? grow() : grower_->grow(grow);
  });
}

void HostTier::grow_if_due() {
  if (grower_ == nullptr) return;
  const TierUsage now = usage();
  const bool scarce = is_near_bound(now) && lent();
  if (refused_ahead_.load(std::memory_order_relaxed) && !scarce) return;
  if (scarce || is_due(now) || staging_due(now) != nullptr) grower_->kick();
}

bool HostTier::grow_ahead() {
  if (const Bytes due(shed_due_.load(std::memory_order_relaxed)); due) {
    shed(due);
    return false;
  }
  if (is_near_bound(usage())) reclaim();
  if (refused_ahead_.load(std::memory_order_relaxed)) return false;
  const TierUsage now = usage();
  Reserve* const reserve = is_due(now) ? nullptr : staging_due(now);
  if (reserve == nullptr && !is_due(now)) return false;
  const bool grown = (reserve != nullptr ? reserve->region : region_).grow(HostRegion::kUnit);
  if (!grown) refused_ahead_.store(true, std::memory_order_relaxed);
  return grown;
}

bool HostTier::is_due(const TierUsage& now) const {
  const Bytes ahead = std::clamp(now.used / 4, kChunk, kMostAhead);
  return is_used(now) && now.spare < std::min(ahead, now.capacity - now.used);
}

bool HostTier::is_near_bound(const TierUsage& now) const {
  return is_used(now) && now.capacity - now.used < std::max(kChunk, now.capacity / 8);
}

// The first reserve that is not completely backed, once the budget is nearly used.
HostTier::Reserve* HostTier::staging_due(const TierUsage& now) const {
  if (!is_near_bound(now) || !staging_capacity_) return nullptr;
  const auto all = reserves();
  const auto due = std::find_if(all.begin(), all.end(), [this](const Reserve* reserve) {
    return reserve->region.backed() + kBasePage <= staging_capacity_;
  });
  return due == all.end() ? nullptr : *due;
}

Status HostTier::validate() const {
  TESSERA_TRY(region_.validate());
  for (const Reserve* const reserve : reserves()) TESSERA_TRY(reserve->region.validate());
  const MutexLock lock(mutex_);
  for (const auto& [device, reserve] : reserves_) {
    if (reserve->adopted <= adoptable_ && reserve->used + reserve->adopted <= staging_capacity_) continue;
    return Status(Code::kInternal,
                  fmt::format("host tier: {} staging and {} adopted of {} of device {}", reserve->used.value(),
                              reserve->adopted.value(), staging_capacity_.value(), device.value()));
  }
  if (used_ + lent_ <= capacity_ && adopted() <= used_) return Status::ok();
  return Status(Code::kInternal, fmt::format("host tier: {} of {} used, {} of them adopted", used_.value(),
                                             capacity_.value(), adopted().value()));
}

Result<Frame> HostTier::take_staging(PageClass page_class, DeviceId device) {
  const Bytes bytes = page_bytes(page_class);
  Reserve* reserve = nullptr;
  bool alone = false;
  {
    const MutexLock lock(mutex_);
    if (bytes > staging_capacity_) return no_room(bytes, "the staging reserve is smaller");
    reserve = reserves_.at(device).get();
    if (reserve->used + reserve->adopted + bytes > staging_capacity_) {
      return Status(Code::kBusy, fmt::format("staging reserve: {} bytes requested, {} of {} are in use", bytes.value(),
                                             (reserve->used + reserve->adopted).value(), staging_capacity_.value()));
    }
    alone = !reserve->used;
    reserve->used += bytes;
  }
  void* const found = allocate(reserve->region, bytes);
  const MutexLock lock(mutex_);
  if (found != nullptr) {
    staged_ += bytes;
    note_peaks();
    return frame_at(page_class, found);
  }
  reserve->used -= bytes;
  if (alone) return no_room(bytes, "the machine refused the staging reserve");
  return Status(Code::kBusy, "staging reserve: no free extent is large enough until other frames are returned");
}

void HostTier::give_back_staging(Frame frame) {
  Reserve* reserve = nullptr;
  {
    const MutexLock lock(mutex_);
    reserve = reserve_with(frame);
  }
  DCHECK(reserve != nullptr);
  reserve->region.give(bytes_of(frame), frame.bytes());
  const MutexLock lock(mutex_);
  DCHECK_GE(reserve->used, frame.bytes());
  reserve->used -= frame.bytes();
  staged_ -= frame.bytes();
}

Status HostTier::adopt(const Frame& staging) {
  const Bytes bytes = staging.bytes();
  const MutexLock lock(mutex_);
  Reserve* const reserve = reserve_with(staging);
  DCHECK(reserve != nullptr);
  const Bytes end = reserve->region.offset_of(bytes_of(staging)) + bytes;
  if (used_ + bytes > capacity_ - lent_) return no_room(bytes, "the budget is used up");
  if (end > adoptable_) return no_room(bytes, "its place is reserved for staging");
  DCHECK_GE(reserve->used, bytes);
  reserve->used -= bytes;
  reserve->adopted += bytes;
  staged_ -= bytes;
  used_ += bytes;
  note_peaks();
  return Status::ok();
}

Status HostTier::no_room(Bytes bytes, const char* reason) const {
  return Status(Code::kOutOfMemory, fmt::format("host tier: {} bytes requested, {} of {} are in use: {}", bytes.value(),
                                                used_.value(), capacity_.value(), reason));
}

}  // namespace tessera
