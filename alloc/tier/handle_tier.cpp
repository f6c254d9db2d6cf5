#include "tier/handle_tier.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/log.hpp"

namespace tessera {

HandleTier::HandleTier(TierKind kind, Bytes capacity) : kind_(kind), capacity_(capacity) {}

void HandleTier::destroy_all() {
  const MutexLock lock(mutex_);
  DCHECK_EQ(used_, Bytes());
  for (const PageClass page_class : kPageClasses) destroy_spare(page_class, Bytes());
}

Result<Frame> HandleTier::take(PageClass page_class) {
  const Bytes bytes = page_bytes(page_class);
  const MutexLock lock(mutex_);
  auto& pool = pool_[index_of(page_class)];
  if (pool.empty()) {
    if (!make_budget(bytes)) return no_room(bytes);
    TESSERA_TRY_ASSIGN(const std::uint64_t created, create(bytes));
    pool.push_back(created);
  }
  const std::uint64_t value = pool.back();
  pool.pop_back();
  used_ += bytes;
  peak_used_ = std::max(peak_used_, used_);
  return Frame{kind_, page_class, value};
}

void HandleTier::give_back(Frame frame) {
  const MutexLock lock(mutex_);
  DCHECK_GE(used_, frame.bytes());
  used_ -= frame.bytes();
  pool_[index_of(frame.page_class)].push_back(frame.value);
}

TierUsage HandleTier::usage() const {
  const MutexLock lock(mutex_);
  return {capacity_, used_, spare(), peak_used_};
}

void HandleTier::trim() {
  const MutexLock lock(mutex_);
  for (const PageClass page_class : kPageClasses) destroy_spare(page_class, Bytes());
}

Status HandleTier::validate() const {
  const MutexLock lock(mutex_);
  if (used_ + spare() > capacity_) {
    return Status(Code::kInternal, fmt::format("{} tier: {} used and {} spare exceed {}", name_of(kind_),
                                               used_.value(), spare().value(), capacity_.value()));
  }
  return Status::ok();
}

// Room for `bytes` more under the budget, by destroying spare frames if need be.
bool HandleTier::make_budget(Bytes bytes) {
  if (used_ + bytes > capacity_) return false;
  const Bytes spare_allowed = capacity_ - used_ - bytes;
  for (const PageClass page_class : kPageClasses) {
    const Bytes others = spare() - spare_of(page_class);
    destroy_spare(page_class, spare_allowed > others ? spare_allowed - others : Bytes());
  }
  return spare() <= spare_allowed;
}

// The machine may hold less than the budget says: then what is spare makes room, once.
Result<std::uint64_t> HandleTier::create(Bytes bytes) {
  auto created = create_handle(bytes);
  if (created.is_ok() || created.status().code() != Code::kOutOfMemory || !spare()) return created;
  for (const PageClass page_class : kPageClasses) destroy_spare(page_class, Bytes());
  return create_handle(bytes);
}

// Destroys spare frames of the class until no more than `keep` bytes of them are left.
void HandleTier::destroy_spare(PageClass page_class, Bytes keep) {
  auto& pool = pool_[index_of(page_class)];
  while (spare_of(page_class) > keep) {
    const Status destroyed = destroy_handle(pool.back(), page_bytes(page_class));
    if (!destroyed.is_ok()) {
      log_line(LogLevel::kWarning, "a {} frame could not be destroyed: {}",
               name_of(kind_), destroyed.to_string());
      return;
    }
    pool.pop_back();
  }
}

Status HandleTier::no_room(Bytes bytes) const {
  return Status(Code::kOutOfMemory,
                fmt::format("{} tier: {} bytes asked, {} of {} are in frames that are out",
                            name_of(kind_), bytes.value(), used_.value(), capacity_.value()));
}

Bytes HandleTier::spare_of(PageClass page_class) const {
  return page_bytes(page_class) * pool_[index_of(page_class)].size();
}

Bytes HandleTier::spare() const {
  Bytes total;
  for (const PageClass page_class : kPageClasses) total += spare_of(page_class);
  return total;
}

}  // namespace tessera
