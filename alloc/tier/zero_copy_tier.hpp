// Host frames for pages that kernels use where they are, over the link: a launch that needs more than the device has
// runs all the same (residency/eviction/partial_runs.hpp).
//
// Its memory is part of the host tier's budget, taken frame by frame. No frame is kept spare: its bytes go back to the
// budget.
//
// Thread safety: as in tier.hpp.
#pragma once

#include "tier/backing_tier.hpp"
#include "tier/host_tier.hpp"

namespace tessera {

class ZeroCopyTier final : public BackingTier {
 public:
  // `first`: as in BackingTier. REQUIRES: `host` outlives it.
  ZeroCopyTier(Driver& driver, DeviceId first, HostTier& host)
      : BackingTier(driver, first, host.usage().capacity), host_(host) {}
  ~ZeroCopyTier() override;

  // Errors: also kOutOfMemory where the host tier lends no more.
  Result<Frame> take(PageClass page_class) override;
  void give_back(Frame frame) override;

 private:
  HostTier& host_;
};

}  // namespace tessera
