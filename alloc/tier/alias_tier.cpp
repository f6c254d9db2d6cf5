#include "tier/alias_tier.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "tier/patient_access.hpp"

namespace tessera {
namespace {

// A failed step of making an alias undoes the steps before it; a step that cannot be undone is logged.
void undo(Status undone, Location location, const char* what) {
  if (undone.is_ok()) return;
  log_line(LogLevel::kWarning, "the alias of a {} frame was not released, {}: {}", name_of(location), what,
           undone.to_string());
}

}  // namespace

Status AliasTier::admit(DeviceId device) {
  const MutexLock lock(aliases_mutex_);
  if (std::find(devices_.begin(), devices_.end(), device) != devices_.end()) return {};
  for (const auto& [alias, known] : aliases_) {
    TESSERA_TRY(set_access_patiently(driver_, Address(alias), known.bytes, device));
  }
  devices_.push_back(device);
  return {};
}

std::vector<DeviceId> AliasTier::admitted() const {
  const MutexLock lock(aliases_mutex_);
  return devices_;
}

FrameId AliasTier::handle_of(const Frame& frame) const {
  const MutexLock lock(aliases_mutex_);
  return aliases_.at(frame.value).frame;
}

Result<std::uint64_t> AliasTier::create_handle(Bytes bytes) {
  const MutexLock lock(aliases_mutex_);
  TESSERA_TRY_ASSIGN(const Made made, create_frame(bytes));
  const auto alias = driver_.reserve(bytes, bytes);
  const Status shown = alias.is_ok() ? show(alias.value(), bytes, made) : alias.status();
  if (!shown.is_ok()) {
    if (alias.is_ok()) undo(driver_.release(alias.value(), bytes), location(), "its addresses");
    undo(destroy_frame(made.frame, bytes), location(), "its memory");
    return shown;
  }
  aliases_[alias.value().value()] = {made.frame, bytes};
  return alias.value().value();
}

Status AliasTier::show(Address alias, Bytes bytes, const Made& made) {
  TESSERA_TRY(driver_.map(alias, bytes, made.frame));
  Status allowed = set_access_patiently(driver_, alias, bytes, made.owner);
  for (const DeviceId device : devices_) {
    if (allowed.is_ok() && device != made.owner) allowed = set_access_patiently(driver_, alias, bytes, device);
  }
  if (!allowed.is_ok()) undo(driver_.unmap(alias, bytes), location(), "its mapping");
  return allowed;
}

// The unmap comes first: a frame with its alias intact can be handed out again; without it, it is lost.
Status AliasTier::destroy_handle(std::uint64_t value, Bytes bytes) {
  const MutexLock lock(aliases_mutex_);
  const auto found = aliases_.find(value);
  TESSERA_TRY(driver_.unmap(Address(value), bytes));
  undo(driver_.release(Address(value), bytes), location(), "its addresses");
  undo(destroy_frame(found->second.frame, bytes), location(), "its memory");
  aliases_.erase(found);
  return {};
}

}  // namespace tessera
