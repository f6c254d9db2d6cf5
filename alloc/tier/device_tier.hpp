// Device memory as frames; `value` of a frame is the driver's FrameId, unless it is joined: then
// handles_of() names them.
//
// Thread safety: as tier.hpp says.
#pragma once

#include "driver/driver.hpp"
#include "tier/handle_tier.hpp"

namespace tessera {

class DeviceTier final : public HandleTier {
 public:
  DeviceTier(Driver& driver, DeviceId device, Bytes capacity);
  // Destroys all spare frames. REQUIRES: as destroy_all.
  ~DeviceTier() override;

 private:
  Result<std::uint64_t> create_handle(Bytes bytes) override;
  Status destroy_handle(std::uint64_t value, Bytes bytes) override;

  Driver& driver_;
  const DeviceId device_;
};

}  // namespace tessera
