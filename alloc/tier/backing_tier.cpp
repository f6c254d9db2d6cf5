#include "tier/backing_tier.hpp"

#include <algorithm>

namespace tessera {

BackingTier::BackingTier(Driver& driver, DeviceId first, Bytes capacity)
    : AliasTier(TierKind::kHost, driver, capacity, {first}), first_(first) {}

BackingTier::~BackingTier() { destroy_all(); }

Bytes BackingTier::reserve_of(Bytes capacity) {
  return std::min(2 * kLargePage, capacity / 2 / kBasePage * kBasePage);
}

Result<AliasTier::Made> BackingTier::create_frame(Bytes bytes) {
  TESSERA_TRY_ASSIGN(const FrameId frame, driver_.create_frame(first_, FrameLocation::kHost, bytes));
  return Made{frame, first_};
}

Status BackingTier::destroy_frame(FrameId frame, Bytes) { return driver_.destroy_frame(frame); }

}  // namespace tessera
