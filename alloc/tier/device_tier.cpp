#include "tier/device_tier.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/log.hpp"

namespace tessera {

DeviceTier::DeviceTier(Driver& driver, DeviceId device, Bytes capacity)
    : driver_(driver), device_(device), capacity_(capacity) {}

DeviceTier::~DeviceTier() {
  const MutexLock lock(mutex_);
  DCHECK_EQ(used_, Bytes());
  for (const PageClass page_class : kPageClasses) destroy_spare(page_class, Bytes());
}

Result<Frame> DeviceTier::take(PageClass page_class) {
  const Bytes bytes = page_bytes(page_class);
  const MutexLock lock(mutex_);
  auto& pool = pool_[index_of(page_class)];
  if (pool.empty()) {
    if (!make_budget(bytes)) return no_room(bytes);
    TESSERA_TRY_ASSIGN(const FrameId created, create(bytes));
    pool.push_back(created);
  }
  const FrameId frame = pool.back();
  pool.pop_back();
  used_ += bytes;
  peak_used_ = std::max(peak_used_, used_);
  return Frame{TierKind::kDevice, page_class, frame.value()};
}

void DeviceTier::give_back(Frame frame) {
  const MutexLock lock(mutex_);
  DCHECK_GE(used_, frame.bytes());
  used_ -= frame.bytes();
  pool_[index_of(frame.page_class)].push_back(FrameId(frame.value));
}

TierUsage DeviceTier::usage() const {
  const MutexLock lock(mutex_);
  return {capacity_, used_, spare(), peak_used_};
}

void DeviceTier::trim() {
  const MutexLock lock(mutex_);
  for (const PageClass page_class : kPageClasses) destroy_spare(page_class, Bytes());
}

Status DeviceTier::validate() const {
  const MutexLock lock(mutex_);
  if (used_ + spare() > capacity_) {
    return Status(Code::kInternal, fmt::format("device tier: {} used and {} spare exceed {}",
                                               used_.value(), spare().value(), capacity_.value()));
  }
  return Status::ok();
}

// Room for `bytes` more under the budget, by destroying spare frames if need be.
bool DeviceTier::make_budget(Bytes bytes) {
  if (used_ + bytes > capacity_) return false;
  const Bytes spare_allowed = capacity_ - used_ - bytes;
  for (const PageClass page_class : kPageClasses) {
    const Bytes others = spare() - spare_of(page_class);
    destroy_spare(page_class, spare_allowed > others ? spare_allowed - others : Bytes());
  }
  return spare() <= spare_allowed;
}

// The machine may hold less than the budget says: then what is spare makes room, once.
Result<FrameId> DeviceTier::create(Bytes bytes) {
  auto created = driver_.create_frame(device_, FrameLocation::kDevice, bytes);
  if (created.is_ok() || created.status().code() != Code::kOutOfMemory || !spare()) return created;
  for (const PageClass page_class : kPageClasses) destroy_spare(page_class, Bytes());
  return driver_.create_frame(device_, FrameLocation::kDevice, bytes);
}

// Destroys spare frames of the class until no more than `keep` bytes of them are left.
void DeviceTier::destroy_spare(PageClass page_class, Bytes keep) {
  auto& pool = pool_[index_of(page_class)];
  while (spare_of(page_class) > keep) {
    const Status destroyed = driver_.destroy_frame(FrameId(pool.back()));
    if (!destroyed.is_ok()) {
      log_line(LogLevel::kWarning, "a device frame could not be destroyed: {}",
               destroyed.to_string());
      return;
    }
    pool.pop_back();
  }
}

Status DeviceTier::no_room(Bytes bytes) const {
  return Status(Code::kOutOfMemory,
                fmt::format("device tier: {} bytes asked, {} of {} are in frames that are out",
                            bytes.value(), used_.value(), capacity_.value()));
}

Bytes DeviceTier::spare_of(PageClass page_class) const {
  return page_bytes(page_class) * pool_[index_of(page_class)].size();
}

Bytes DeviceTier::spare() const {
  Bytes total;
  for (const PageClass page_class : kPageClasses) total += spare_of(page_class);
  return total;
}

}  // namespace tessera
