#include "tier/handle_tier.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

// A query of the driver costs some tens of microseconds, the eviction of this many bytes more than a millisecond.
constexpr Bytes kReturnedBetweenAsks = 32_MiB;

Bytes whole_pages(Bytes bytes) { return bytes / kBasePage * kBasePage; }

}  // namespace

HandleTier::HandleTier(Location location, Bytes capacity, Margin margin)
    : location_(location),
      margin_(margin),
      limit_(capacity),
      ceiling_(capacity),
      capacity_(capacity),
      room_(capacity.value()) {}

void HandleTier::lower_capacity(Bytes by) {
  const MutexLock lock(mutex_);
  DCHECK_LE(held() + by, capacity_);
  capacity_ -= by;
  limit_ -= by;
  ceiling_ = std::min(ceiling_, limit_);
  publish();
}

Result<Bytes> HandleTier::machine_free() const {
  return Status(Code::kNotSupported, "only the budget limits this tier");
}

// ---- the budget ---------------------------------------------------------------------------------

Bytes HandleTier::limit() const {
  const MutexLock lock(mutex_);
  return limit_;
}

Result<Bytes> HandleTier::could_hold(Bytes margin) const {
  TESSERA_TRY_ASSIGN(const Bytes free, machine_free());
  return std::min(ceiling_, held() + (free - std::min(free, margin)));
}

Result<Bytes> HandleTier::reach() const {
  const MutexLock lock(mutex_);
  return could_hold(margin_.first);
}

void HandleTier::regain(Ask ask) {
  const MutexLock lock(mutex_);
  if (capacity_ >= ceiling_ || yields_ != 0) return;
  if (ask == Ask::kWhenDue && !more_expected_ && returned_ < kReturnedBetweenAsks) return;
  raise();
}

// If the driver does not answer, the budget stays as it is.
void HandleTier::raise() {
  more_expected_ = false;
  returned_ = Bytes();
  const Result<Bytes> most = could_hold(has_yielded_ ? margin_.reserve : margin_.first);
  if (most.is_ok()) capacity_ = std::max(capacity_, whole_pages(most.value()));
  publish();
}

void HandleTier::set_limit(Bytes limit) {
  const MutexLock lock(mutex_);
  limit_ = std::max(whole_pages(limit), capacity_);
  ceiling_ = std::min(ceiling_, limit_);
}

void HandleTier::set_ceiling(Bytes ceiling) {
  const MutexLock lock(mutex_);
  const Bytes before = ceiling_;
  ceiling_ = whole_pages(std::min(ceiling, limit_));
  if (ceiling_ > before) more_expected_ = true;
  if (capacity_ <= ceiling_) return;
  destroy_until(ceiling_ - std::min(ceiling_, used_));
  capacity_ = std::max(ceiling_, held());
  publish();
}

void HandleTier::expect_more() {
  const MutexLock lock(mutex_);
  more_expected_ = true;
}

void HandleTier::begin_yield() {
  const MutexLock lock(mutex_);
  ++yields_;
  has_yielded_ = true;
}

void HandleTier::yield_spare() {
  const MutexLock lock(mutex_);
  destroy_until(Bytes());
  capacity_ = held();
  publish();
}

void HandleTier::end_yield() {
  const MutexLock lock(mutex_);
  DCHECK_GT(yields_, 0u);
  if (--yields_ == 0) raise();
}

// The driver has no memory for a frame of `bytes`. If it has enough and refuses all the same, the budget is unchanged.
void HandleTier::note_shortfall(Bytes bytes) {
  const Result<Bytes> most = could_hold(Bytes());
  if (!most.is_ok() || most.value() >= held() + bytes) return;
  capacity_ = std::min(capacity_, std::max(held(), whole_pages(most.value())));
  publish();
}

// ---- frames -------------------------------------------------------------------------------------

void HandleTier::destroy_all() {
  const MutexLock lock(mutex_);
  DCHECK_EQ(used_, lost_);
  destroy_until(Bytes());
}

Result<Frame> HandleTier::take(PageClass page_class) {
  const MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const Frame frame, find(page_class));
  used_ += frame.bytes();
  peak_used_ = std::max(peak_used_, used_);
  publish();
  return frame;
}

// Prefers a spare frame to a new one, and a new one within the budget to destroying spare frames for it.
Result<Frame> HandleTier::find(PageClass page_class) {
  if (!pool_[index_of(page_class)].empty()) {
    return Frame{.tier = location_, .page_class = page_class, .value = pop_spare(page_class)};
  }
  const Bytes bytes = page_bytes(page_class);
  if (!make_budget(bytes)) return no_room(bytes);
  return create(page_class);
}

bool HandleTier::wants_spare(PageClass page_class, Bytes ahead) const {
  return spare_of(page_class) < ahead && used_ + spare_ + page_bytes(page_class) <= capacity_;
}

bool HandleTier::is_spare_below(PageClass page_class, Bytes ahead) const {
  const MutexLock lock(mutex_);
  return wants_spare(page_class, ahead);
}

bool HandleTier::make_spare(PageClass page_class, Bytes ahead) {
  const MutexLock lock(mutex_);
  if (!wants_spare(page_class, ahead)) return false;
  const auto created = create_handle(page_bytes(page_class));
  if (created.is_ok()) push_spare(page_class, created.value());
  return created.is_ok();
}

std::optional<Frame> HandleTier::take_spare(PageClass page_class) {
  const MutexLock lock(mutex_);
  if (pool_[index_of(page_class)].empty()) return std::nullopt;
  const Frame frame{.tier = location_, .page_class = page_class, .value = pop_spare(page_class)};
  used_ += frame.bytes();
  peak_used_ = std::max(peak_used_, used_);
  publish();
  return frame;
}

void HandleTier::give_back(Frame frame) {
  const MutexLock lock(mutex_);
  DCHECK_GE(used_, frame.bytes());
  used_ -= frame.bytes();
  publish();
  returned_ += frame.bytes();
  push_spare(frame.page_class, frame.value);
}

void HandleTier::write_off(Frame frame) {
  const MutexLock lock(mutex_);
  DCHECK_GE(used_, lost_ + frame.bytes());
  lost_ += frame.bytes();
}

TierUsage HandleTier::usage() const {
  const MutexLock lock(mutex_);
  return {capacity_, used_, spare_, peak_used_, lost_};
}

void HandleTier::trim_to(Bytes held) {
  const MutexLock lock(mutex_);
  destroy_until(held > used_ ? held - used_ : Bytes());
}

// Leaves at most `keep` spare bytes, and destroys no frame that could stay. Large frames are destroyed only where the
// smaller ones alone do not suffice, but before them: one may suffice for all.
void HandleTier::destroy_until(Bytes keep) {
  for (const PageClass page_class : kPageClassesDescending) {
    while (spare_of(page_class) > keep) {
      if (!destroy_one(page_class)) break;
    }
    keep -= std::min(keep, spare_of(page_class));
  }
}

Status HandleTier::validate() const {
  const MutexLock lock(mutex_);
  if (capacity_ > limit_) {
    return Status(Code::kInternal, fmt::format("{} tier: a budget of {} exceeds its limit of {}", name_of(location_),
                                               capacity_.value(), limit_.value()));
  }
  Bytes spare;
  for (const PageClass page_class : kPageClasses) spare += spare_of(page_class);
  if (spare != spare_)
    return Status(Code::kInternal, fmt::format("{} tier: the spare bytes do not add up", name_of(location_)));
  if (room_.load() != (capacity_ - std::min(used_, capacity_)).value()) {
    return Status(Code::kInternal, fmt::format("{} tier: the room is published wrongly", name_of(location_)));
  }
  if (held() > capacity_) {
    return Status(Code::kInternal, fmt::format("{} tier: {} used and {} spare exceed {}", name_of(location_),
                                               used_.value(), spare_.value(), capacity_.value()));
  }
  return Status::ok();
}

// Makes room for `bytes` more under the budget. As few spare frames as possible are destroyed for it, since each takes
// a call: the smallest that suffices, or else the largest, and so on.
bool HandleTier::make_budget(Bytes bytes) {
  if (used_ + bytes > capacity_) return false;
  const Bytes allowed = capacity_ - used_ - bytes;
  while (spare_ > allowed) {
    const Bytes excess = spare_ - allowed;
    PageClass next{};
    for (const PageClass page_class : kPageClasses) {
      if (pool_[index_of(page_class)].empty()) continue;
      next = page_class;
      if (page_bytes(page_class) >= excess) break;
    }
    if (!destroy_one(next)) return false;
  }
  return true;
}

// The machine may have less than the budget: then spare frames are destroyed, once.
Result<Frame> HandleTier::create(PageClass page_class) {
  const Bytes bytes = page_bytes(page_class);
  auto created = create_handle(bytes);
  if (created.status().code() == Code::kOutOfMemory) note_shortfall(bytes);
  if (!created.is_ok() && created.status().code() == Code::kOutOfMemory && spare_) {
    destroy_until(Bytes());
    created = create_handle(bytes);
  }
  TESSERA_TRY(created.status());
  return Frame{.tier = location_, .page_class = page_class, .value = created.value()};
}

// REQUIRES: one is spare. False: the driver refused.
bool HandleTier::destroy_one(PageClass page_class) {
  const Status destroyed = destroy_handle(pool_[index_of(page_class)].back(), page_bytes(page_class));
  if (!destroyed.is_ok()) {
    log_line(LogLevel::kWarning, "a {} frame could not be destroyed: {}", name_of(location_), destroyed.to_string());
    return false;
  }
  pop_spare(page_class);
  return true;
}

Status HandleTier::no_room(Bytes bytes) const {
  return Status(Code::kOutOfMemory, fmt::format("{} tier: {} bytes requested, {} of {} are in use", name_of(location_),
                                                bytes.value(), used_.value(), capacity_.value()));
}

Bytes HandleTier::spare_of(PageClass page_class) const {
  return page_bytes(page_class) * pool_[index_of(page_class)].size();
}

void HandleTier::publish() { room_.store((capacity_ - std::min(used_, capacity_)).value(), std::memory_order_release); }

void HandleTier::push_spare(PageClass page_class, std::uint64_t value) {
  pool_[index_of(page_class)].push_back(value);
  spare_ += page_bytes(page_class);
}

std::uint64_t HandleTier::pop_spare(PageClass page_class) {
  auto& pool = pool_[index_of(page_class)];
  const std::uint64_t value = pool.back();
  pool.pop_back();
  spare_ -= page_bytes(page_class);
  return value;
}

}  // namespace tessera
