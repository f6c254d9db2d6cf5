// A tier whose frames are handles of the driver: created once, recycled ever after.
//
// Creating a physical handle is three quarters of the cost of remapping a page (cuda_facts §4.1),
// so frames that come back wait in a pool per page class. When one class has run dry and the other
// has spare frames, spare ones are destroyed to make room under the budget. What a handle is, and
// where its memory lies, is the derived tier's matter: device_tier.hpp, backing_tier.hpp.
//
// Thread safety: as tier.hpp says.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/mutex.hpp"
#include "tier/tier.hpp"

namespace tessera {

class HandleTier : public Tier {
 public:
  TierKind kind() const override { return kind_; }
  Result<Frame> take(PageClass page_class) override;
  void give_back(Frame frame) override;
  TierUsage usage() const override;
  void trim() override;
  Status validate() const override;

 protected:
  HandleTier(TierKind kind, Bytes capacity);

  // Called under the tier's lock. `value` is what Frame::value will be.
  virtual Result<std::uint64_t> create_handle(Bytes bytes) = 0;
  // Errors: the driver's, and the handle is as it was.
  virtual Status destroy_handle(std::uint64_t value, Bytes bytes) = 0;
  // For the derived tier's destructor. REQUIRES: every frame came back.
  void destroy_all();

 private:
  using Pool = std::array<std::vector<std::uint64_t>, kPageClasses.size()>;

  bool make_budget(Bytes bytes) REQUIRES_LOCK(mutex_);
  Result<std::uint64_t> create(Bytes bytes) REQUIRES_LOCK(mutex_);
  void destroy_spare(PageClass page_class, Bytes keep) REQUIRES_LOCK(mutex_);
  Status no_room(Bytes bytes) const REQUIRES_LOCK(mutex_);
  Bytes spare_of(PageClass page_class) const REQUIRES_LOCK(mutex_);
  Bytes spare() const REQUIRES_LOCK(mutex_);

  const TierKind kind_;
  const Bytes capacity_;
  mutable Mutex mutex_{LockRank::kTier};
  Pool pool_ GUARDED_BY(mutex_);
  Bytes used_ GUARDED_BY(mutex_);
  Bytes peak_used_ GUARDED_BY(mutex_);
};

}  // namespace tessera
