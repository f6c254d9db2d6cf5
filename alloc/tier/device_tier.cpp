#include "tier/device_tier.hpp"

namespace tessera {

DeviceTier::DeviceTier(Driver& driver, DeviceId device, Bytes capacity)
    : HandleTier(TierKind::kDevice, capacity, Joining::kAllowed), driver_(driver), device_(device) {}

DeviceTier::~DeviceTier() { destroy_all(); }

Result<std::uint64_t> DeviceTier::create_handle(Bytes bytes) {
  TESSERA_TRY_ASSIGN(const FrameId frame,
                     driver_.create_frame(device_, FrameLocation::kDevice, bytes));
  return frame.value();
}

Status DeviceTier::destroy_handle(std::uint64_t value, Bytes) {
  return driver_.destroy_frame(FrameId(value));
}

}  // namespace tessera
