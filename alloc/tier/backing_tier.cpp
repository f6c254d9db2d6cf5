#include "tier/backing_tier.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace tessera {
namespace {

// A failed step of making an alias takes back those before it; what cannot be taken back is said.
void undo(Status undone, const char* what) {
  if (undone.is_ok()) return;
  log_line(LogLevel::kWarning, "a host frame's alias was left behind, {}: {}", what,
           undone.to_string());
}

}  // namespace

BackingTier::BackingTier(Driver& driver, DeviceId first, Bytes capacity)
    : HandleTier(TierKind::kHost, capacity, Joining::kNever), driver_(driver), devices_{first} {}

BackingTier::~BackingTier() { destroy_all(); }

Bytes BackingTier::reserve_of(Bytes capacity) {
  return std::min(2 * kLargePage, capacity / 2 / kBasePage * kBasePage);
}

Status BackingTier::admit(DeviceId device) {
  const MutexLock lock(aliases_mutex_);
  if (std::find(devices_.begin(), devices_.end(), device) != devices_.end()) return {};
  for (const auto& [alias, known] : aliases_) {
    TESSERA_TRY(driver_.set_access(Address(alias), known.bytes, device));
  }
  devices_.push_back(device);
  return {};
}

FrameId BackingTier::handle_of(const Frame& frame) const {
  const MutexLock lock(aliases_mutex_);
  return aliases_.at(frame.value).frame;
}

Result<std::uint64_t> BackingTier::create_handle(Bytes bytes) {
  const MutexLock lock(aliases_mutex_);
  TESSERA_TRY_ASSIGN(const FrameId frame,
                     driver_.create_frame(devices_.front(), FrameLocation::kHost, bytes));
  const auto alias = driver_.reserve(bytes, bytes);
  const Status shown = alias.is_ok() ? show(alias.value(), bytes, frame) : alias.status();
  if (!shown.is_ok()) {
    if (alias.is_ok()) undo(driver_.release(alias.value(), bytes), "its addresses");
    undo(driver_.destroy_frame(frame), "its memory");
    return shown;
  }
  aliases_[alias.value().value()] = {frame, bytes};
  return alias.value().value();
}

Status BackingTier::show(Address alias, Bytes bytes, FrameId frame) {
  TESSERA_TRY(driver_.map(alias, bytes, frame));
  for (const DeviceId device : devices_) {
    const Status allowed = driver_.set_access(alias, bytes, device);
    if (allowed.is_ok()) continue;
    undo(driver_.unmap(alias, bytes), "its mapping");
    return allowed;
  }
  return {};
}

// A frame whose alias stays can be handed out again; without it there is no way back.
Status BackingTier::destroy_handle(std::uint64_t value, Bytes bytes) {
  const MutexLock lock(aliases_mutex_);
  const auto found = aliases_.find(value);
  TESSERA_TRY(driver_.unmap(Address(value), bytes));
  undo(driver_.release(Address(value), bytes), "its addresses");
  undo(driver_.destroy_frame(found->second.frame), "its memory");
  aliases_.erase(found);
  return {};
}

}  // namespace tessera
