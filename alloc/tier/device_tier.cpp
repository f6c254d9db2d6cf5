#include "tier/device_tier.hpp"

#include "base/log.hpp"
#include "tier/patient_access.hpp"

namespace tessera {
namespace {

// Memory that stays mapped is leaked with its addresses, which are not handed out again.
void say_left_behind(const Status& status) {
  log_line(LogLevel::kWarning, "the second mapping of a device frame was not released: {}", status.to_string());
}

}  // namespace

DeviceTier::DeviceTier(Driver& driver, DeviceId device, Bytes capacity, Margin margin)
    : HandleTier(Location::kDevice, capacity, margin), driver_(driver), device_(device), window_(driver) {}

DeviceTier::~DeviceTier() { destroy_all(); }

Status DeviceTier::open_alias(const Frame& frame) {
  const MutexLock lock(aliases_mutex_);
  if (aliases_.contains(frame.value)) return {};
  Address alias;
  TESSERA_TRY_ASSIGN(alias, window_.take(frame.page_class));
  Status shown = show(alias, frame);
  if (shown.is_ok()) aliases_.emplace(frame.value, alias);
  return shown;
}

Address DeviceTier::alias_of(const Frame& frame) const {
  const MutexLock lock(aliases_mutex_);
  return aliases_.at(frame.value);
}

// Maps the frame with access, or returns the addresses.
Status DeviceTier::show(Address alias, const Frame& frame) {
  Status status = driver_.map(alias, frame.bytes(), handle_of(frame));
  const bool mapped = status.is_ok();
  if (mapped) status = set_access_patiently(driver_, alias, frame.bytes(), device_);
  if (status.is_ok()) return status;
  const Status undone = mapped ? driver_.unmap(alias, frame.bytes()) : Status();
  if (!undone.is_ok()) say_left_behind(undone);
  if (undone.is_ok()) window_.give_back(frame.page_class, alias);
  return status;
}

Status DeviceTier::close_alias(std::uint64_t value, PageClass page_class) {
  const auto found = aliases_.find(value);
  if (found == aliases_.end()) return {};
  TESSERA_TRY(driver_.unmap(found->second, page_bytes(page_class)));
  window_.give_back(page_class, found->second);
  aliases_.erase(found);
  return {};
}

Result<std::uint64_t> DeviceTier::create_handle(Bytes bytes) {
  TESSERA_TRY_ASSIGN(const FrameId frame, driver_.create_frame(device_, FrameLocation::kDevice, bytes));
  return frame.value();
}

// Mapped memory does not go back to the driver, so the alias is closed first.
Status DeviceTier::destroy_handle(std::uint64_t value, Bytes bytes) {
  const MutexLock lock(aliases_mutex_);
  TESSERA_TRY(close_alias(value, class_of(bytes)));
  return driver_.destroy_frame(FrameId(value));
}

Result<Bytes> DeviceTier::machine_free() const {
  TESSERA_TRY_ASSIGN(const MemoryInfo memory, driver_.memory_info(device_));
  return memory.free;
}

}  // namespace tessera
