// Device memory as frames; `value` of a frame is the driver's FrameId.
//
// A frame may be mapped a second time, at its *alias*: from the first open_alias() until its handle is destroyed. A
// copy from there reads the bytes of a page that is no longer mapped at its own address
// (docs/decisions/0027-unannounced-work.md).
//
// Thread safety: as in tier.hpp.
#pragma once

#include <unordered_map>

#include "base/mutex.hpp"
#include "driver/driver.hpp"
#include "tier/alias_window.hpp"
#include "tier/handle_tier.hpp"

namespace tessera {

class DeviceTier final : public HandleTier {
 public:
  // `margin`: see HandleTier.
  DeviceTier(Driver& driver, DeviceId device, Bytes capacity, Margin margin = {});
  // Destroys all spare frames. REQUIRES: as destroy_all.
  ~DeviceTier() override;

  // The handle to map at the address of a page. REQUIRES: the frame is out.
  static FrameId handle_of(const Frame& frame) { return FrameId(frame.value); }
  // On return the frame has an alias. REQUIRES: it is out. Errors: the driver's; it has no alias then.
  Status open_alias(const Frame& frame);
  // REQUIRES: open_alias() of this frame at any time before.
  Address alias_of(const Frame& frame) const;

 private:
  Result<std::uint64_t> create_handle(Bytes bytes) override;
  Status destroy_handle(std::uint64_t value, Bytes bytes) override;
  Status show(Address alias, const Frame& frame) REQUIRES_LOCK(aliases_mutex_);
  Status close_alias(std::uint64_t value, PageClass page_class) REQUIRES_LOCK(aliases_mutex_);
  Result<Bytes> machine_free() const override;

  Driver& driver_;
  const DeviceId device_;
  mutable Mutex aliases_mutex_{LockRank::kAliases};
  AliasWindow window_ GUARDED_BY(aliases_mutex_);
  std::unordered_map<std::uint64_t, Address> aliases_ GUARDED_BY(aliases_mutex_);  // by Frame::value
};

}  // namespace tessera
