// Pinned host memory as frames; `value` of a frame is its address in this process.
//
// Frames come from a bounded region (host_region.hpp) that all devices share. The *staging reserve*, the bytes of a few
// large frames beyond the budget, is kept for moves between device and file, so that a full (or zero) host budget can
// slow the file tier but never stop it. Each device has a reserve of its own: in a shared one, moves of another device
// could take the last frame while this engine has no move of its own to wait for. Each reserve is a region of its own:
// in a shared one, ordinary frames could leave no contiguous room for a large staging frame.
//
// A part of the budget may be lent for other pinned memory (pinned_blocks.hpp, zero_copy_tier.hpp): what all have
// pinned together stays within it.
//
// Thread safety: as in tier.hpp.
//
// Invariants: those of tier.hpp; staging frames and adopted frames of a device together fit its reserve.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "tier/host_grower.hpp"
#include "tier/host_region.hpp"
#include "tier/tier.hpp"

namespace tessera {

class HostTier final : public Tier {
 public:
  // `capacity` limits frames from take(); `staging`, per device, those from take_staging().
  // Where other programs share the budget, frames from take() are in `shared` pages, which may refuse, in chunks of
  // 1/64 of the capacity if that is less than the usual chunk; staging frames are in `pages`.
  HostTier(Driver& driver, Bytes capacity, Bytes staging, HostPages& pages = system_host_pages(),
           HostPages* shared = nullptr);
  ~HostTier() override;
  // The reserve for such budgets: without it, pages could not be exchanged with a full tier.
  static Bytes staging_for(Bytes host, Bytes file);
  // Gives the device a reserve. Uses only addresses until a frame of it is taken or soon will be.
  void add_reserve(DeviceId device);

  Location location() const override { return Location::kHost; }
  Result<Frame> take(PageClass page_class) override;
  void give_back(Frame frame) override;
  TierUsage usage() const override;
  void trim() override;
  Status validate() const override;

  // Memory taken from now on is to be near this NUMA node. The first call decides: one tier serves all devices, and
  // their shares cannot be separated.
  void settle(unsigned node);
  // From now on a thread does all pinning: ahead of need (grow_ahead), and if that was not enough, while the thread
  // that takes a frame waits. REQUIRES: no other call was made yet.
  void grow_in_background();
  // Ends that thread. REQUIRES: no other call is being made.
  void stop_growing() { grower_.reset(); }
  // Keeps pinned memory ready for coming evictions: backs one more piece when the spare bytes are fewer than a quarter
  // of the used ones (64 to 512 MiB), and the staging reserves when the budget is nearly used. Does nothing before the
  // first frame is taken or expected: most programs fit. Returns whether it backed a piece, which takes as long as
  // pinning does. After one refusal by the machine it does nothing any more.
  bool grow_ahead();
  // Frames will be taken before long. Cheap.
  void expect_use();

  // A frame of the device's own reserve, for a move between device and file. REQUIRES: add_reserve(device). Errors:
  // kBusy while too much of the reserve is in use; kOutOfMemory when it is smaller than the page, or the machine
  // refuses it.
  Result<Frame> take_staging(PageClass page_class, DeviceId device);
  void give_back_staging(Frame frame);
  // Turns a staging frame into an ordinary one when the budget has room: a page read from the file stays in host
  // memory. It keeps its place in the reserve until it is given back, so only frames in the reserve's lower part can be
  // adopted; above it a large frame always fits. Errors: kOutOfMemory; the frame is unchanged.
  Status adopt(const Frame& staging);

  // Takes `bytes` from the budget for pinned memory outside of this tier. False if pages need them or soon may. Spare
  // memory of the tier is returned to the machine for it.
  bool lend(Bytes bytes);
  void take_back(Bytes bytes);
  // `give_back` returns as much of what is lent as is unused. It is called where the budget is nearly used (on the
  // thread that pins ahead) or too small for another block. REQUIRES: no other call was made yet.
  void on_shortage(std::function<void()> give_back) { give_back_ = std::move(give_back); }
  // Has unused lent memory returned now. Returns whether there was any.
  bool reclaim();
  // Returns unused memory of at least `bytes`, if there is so much: others are entitled to it. What is in use follows
  // as it becomes unused, until the next call. Returns the number of bytes.
  Bytes shed(Bytes bytes);
  // Pins ahead of need again after a refusal: there may be memory now. No effect after yield().
  void retry_ahead();
  // The driver has no pinned memory left for the program: returns all that is unused, and pins nothing ahead of need
  // any more. Returns the number of bytes.
  Bytes yield();

  static void* bytes_of(const Frame& frame) { return reinterpret_cast<void*>(frame.value); }
  // Whether the regions could be pinned; otherwise copies are synchronous.
  bool pinned() const;
  // Whether the machine refused memory at the last request, so that the budget cannot be reached.
  bool is_refused() const { return region_.is_refused(); }
  // usage() plus the staging reserves of all devices and what is lent: all pinned memory of the budget.
  TierUsage usage_with_staging() const;

 private:
  struct Reserve {
    Reserve(Driver& driver, Bytes bytes, HostPages& pages);
    HostRegion region;
    // Guarded by the tier's mutex.
    Bytes used;
    Bytes adopted;  // part of the tier's used_ that is in this region
  };

  bool is_used(const TierUsage& now) const { return now.used || expected_.load(std::memory_order_relaxed); }
  bool is_due(const TierUsage& now) const;
  void* allocate(HostRegion& region, Bytes bytes);
  void grow_if_due();
  Reserve* staging_due(const TierUsage& now) const;
  std::vector<Reserve*> reserves() const;
  Reserve* reserve_with(const Frame& frame) const REQUIRES_LOCK(mutex_);
  Bytes adopted() const REQUIRES_LOCK(mutex_);
  Bytes backed() const;
  bool is_near_bound(const TierUsage& now) const;
  Bytes lent() const;
  void note_peaks() REQUIRES_LOCK(mutex_);
  Status no_room(Bytes bytes, const char* reason) const REQUIRES_LOCK(mutex_);

  Driver& driver_;
  HostPages& pages_;
  HostRegion region_;
  const Bytes capacity_;
  const Bytes staging_capacity_;  // of each reserve
  const Bytes adoptable_;         // the lower part of it
  std::atomic<bool> refused_ahead_{false};
  std::atomic<bool> yielded_{false};
  std::atomic<std::uint64_t> shed_due_{0};  // bytes that shed() could not return yet
  std::atomic<bool> expected_{false};
  Mutex lending_{LockRank::kHostLending};  // the region's limit follows what is lent, one change at a time
  mutable Mutex mutex_{LockRank::kTier};
  std::optional<unsigned> node_ GUARDED_BY(mutex_);
  // Never removed, so their regions may be used without the lock.
  std::map<DeviceId, std::unique_ptr<Reserve>> reserves_ GUARDED_BY(mutex_);
  Bytes used_ GUARDED_BY(mutex_);
  Bytes peak_used_ GUARDED_BY(mutex_);
  Bytes lent_ GUARDED_BY(mutex_);
  Bytes staged_ GUARDED_BY(mutex_);       // used in all reserves
  Bytes peak_in_all_ GUARDED_BY(mutex_);  // of used_, staged_ and lent_ together
  std::function<void()> give_back_;
  std::unique_ptr<HostGrower> grower_;  // null: the thread that takes a frame pins. Destroyed before what it grows
};

}  // namespace tessera
