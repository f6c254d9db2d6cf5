// Device memory as frames: created once, recycled ever after.
//
// Creating a physical handle is three quarters of the cost of remapping a page (cuda_facts §4.1),
// so frames that come back wait in a pool per page class. When one class has run dry and the other
// has spare frames, spare ones are destroyed to make room under the budget.
//
// Thread safety: as tier.hpp says.
#pragma once

#include <array>
#include <vector>

#include "base/mutex.hpp"
#include "driver/driver.hpp"
#include "tier/tier.hpp"

namespace tessera {

class DeviceTier final : public Tier {
 public:
  DeviceTier(Driver& driver, DeviceId device, Bytes capacity);
  // Destroys all spare frames. REQUIRES: every frame came back.
  ~DeviceTier() override;

  TierKind kind() const override { return TierKind::kDevice; }
  Result<Frame> take(PageClass page_class) override;
  void give_back(Frame frame) override;
  TierUsage usage() const override;
  void trim() override;
  Status validate() const override;

 private:
  using Pool = std::array<std::vector<FrameId>, kPageClasses.size()>;

  bool make_budget(Bytes bytes) REQUIRES_LOCK(mutex_);
  Result<FrameId> create(Bytes bytes) REQUIRES_LOCK(mutex_);
  void destroy_spare(PageClass page_class, Bytes keep) REQUIRES_LOCK(mutex_);
  Status no_room(Bytes bytes) const REQUIRES_LOCK(mutex_);
  Bytes spare_of(PageClass page_class) const REQUIRES_LOCK(mutex_);
  Bytes spare() const REQUIRES_LOCK(mutex_);

  Driver& driver_;
  const DeviceId device_;
  const Bytes capacity_;
  mutable Mutex mutex_{LockRank::kTier};
  Pool pool_ GUARDED_BY(mutex_);
  Bytes used_ GUARDED_BY(mutex_);
  Bytes peak_used_ GUARDED_BY(mutex_);
};

}  // namespace tessera
