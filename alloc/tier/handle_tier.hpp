// A tier whose frames are handles of the driver: created once, recycled ever after.
//
// Creating a physical handle is three quarters of the cost of remapping a page (cuda_facts §4.1),
// so frames that come back wait in a pool per page class. When the budget has no room for a new
// large frame and none is spare, sixteen spare base frames are *joined* to one: mapped in a row they
// do the same, and nothing is created. They part when they come back, and the next large page finds
// a whole frame if one is spare by then (docs/decisions/0012-frames-follow-supply.md). Otherwise
// spare frames of the other class are destroyed to make room. What a handle is, and where its memory
// lies, is the derived tier's matter: device_tier.hpp, alias_tier.hpp.
//
// Thread safety: as tier.hpp says.
//
// Invariants: those of tier.hpp; a handle is spare, in one frame, or in one joined frame.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "tier/tier.hpp"

namespace tessera {

class HandleTier : public Tier {
 public:
  TierKind kind() const override { return kind_; }
  Result<Frame> take(PageClass page_class) override;
  void give_back(Frame frame) override;
  // Instead of give_back, for a frame that could not be unmapped: it stays out for good.
  // REQUIRES: as give_back.
  void write_off(Frame frame);
  TierUsage usage() const override;
  void trim() override;
  Status validate() const override;

  // What the frame is made of, in the order of its addresses: itself, or the base frames that were
  // joined, each as large as the others. REQUIRES: the frame is out; valid while `frame` is.
  static std::span<const std::uint64_t> handles_of(const Frame& frame);

 protected:
  // Whether spare base frames may stand for a large one.
  enum class Joining : bool { kNever, kAllowed };
  HandleTier(TierKind kind, Bytes capacity, Joining joining);

  // Called under the tier's lock. `value` is what Frame::value will be.
  virtual Result<std::uint64_t> create_handle(Bytes bytes) = 0;
  // Errors: the driver's, and the handle is as it was.
  virtual Status destroy_handle(std::uint64_t value, Bytes bytes) = 0;
  // The joined frame comes apart: the last that is known of it. Called under the tier's lock.
  virtual void forget_joined(const Frame&) {}
  // The budget was more than there is. REQUIRES: so much of it is not taken.
  void lower_capacity(Bytes by);
  // Makes one more spare frame, if fewer bytes than `ahead` of the class are spare and the budget has room beside all
  // that is. False when it did not.
  bool make_spare(PageClass page_class, Bytes ahead);
  // take(), as long as nothing has to be created or destroyed for it.
  std::optional<Frame> take_spare(PageClass page_class);
  bool is_spare_below(PageClass page_class, Bytes ahead) const;
  // For the derived tier's destructor. REQUIRES: every frame came back or is written off.
  void destroy_all();

 private:
  using Pool = std::array<std::vector<std::uint64_t>, kPageClasses.size()>;
  using Parts = std::array<std::uint64_t, kBasePerLarge>;

  Result<Frame> find(PageClass page_class) REQUIRES_LOCK(mutex_);
  bool can_join(PageClass page_class) const REQUIRES_LOCK(mutex_);
  Frame join() REQUIRES_LOCK(mutex_);
  bool wants_spare(PageClass page_class, Bytes ahead) const REQUIRES_LOCK(mutex_);
  void part(const Frame& frame) REQUIRES_LOCK(mutex_);
  bool make_budget(Bytes bytes) REQUIRES_LOCK(mutex_);
  Result<Frame> create(PageClass page_class) REQUIRES_LOCK(mutex_);
  void destroy_spare(PageClass page_class, Bytes keep) REQUIRES_LOCK(mutex_);
  Status no_room(Bytes bytes) const REQUIRES_LOCK(mutex_);
  Bytes spare_of(PageClass page_class) const REQUIRES_LOCK(mutex_);
  Bytes spare() const REQUIRES_LOCK(mutex_);

  const TierKind kind_;
  const Joining joining_;
  mutable Mutex mutex_{LockRank::kTier};
  Bytes capacity_ GUARDED_BY(mutex_);
  Pool pool_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, std::unique_ptr<Parts>> joined_ GUARDED_BY(mutex_);  // by Frame::value
  Bytes used_ GUARDED_BY(mutex_);
  Bytes lost_ GUARDED_BY(mutex_);
  Bytes peak_used_ GUARDED_BY(mutex_);
};

}  // namespace tessera
