// A tier of driver handles: created once, then recycled.
//
// A returned frame waits in a pool per page class, so that the next page of its class takes it without a call of the
// driver. When none is spare and the budget has no room for a new one, spare frames of other classes are destroyed,
// as many as it takes: every page has one whole frame of its class (docs/decisions/0039-whole-frames.md). The derived
// tier defines what a handle is and where its memory is: device_tier.hpp, alias_tier.hpp.
//
// Others allocate from the same memory: contexts, modules, other processes. So the budget in force, usage().capacity,
// drops to what is available when the driver is out of memory, or when a caller yields memory to the driver. It rises
// again, up to the limit, when the driver is seen to have memory (docs/decisions/0029-a-budget-that-yields.md).
//
// Thread safety: as in tier.hpp.
//
// Invariants: those of tier.hpp; capacity <= limit; a handle is spare or in one frame.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "tier/tier.hpp"

namespace tessera {

class HandleTier : public Tier {
 public:
  // What a rising budget leaves to the driver: at first what the driver had beside the budget at the start; once it has
  // been out of memory, the reserve, so that the next small allocation does not exhaust it again.
  struct Margin {
    Bytes first, reserve;
  };

  Location location() const override { return location_; }
  Result<Frame> take(PageClass page_class) override;
  void give_back(Frame frame) override;
  // Instead of give_back, for a frame that could not be unmapped: it counts as out for good. REQUIRES: as give_back.
  void write_off(Frame frame);
  TierUsage usage() const override;
  // usage().room(). Takes no lock: it is asked for many times for each page that moves.
  Bytes room() const { return Bytes(room_.load(std::memory_order_acquire)); }
  void trim() override { trim_to(Bytes()); }
  // Destroys spare frames until at most `held` bytes are used or spare.
  void trim_to(Bytes held);
  Status validate() const override;

  // The upper limit of the budget; usage() has the one in force.
  Bytes limit() const;
  // What the budget would be if the driver were queried now, leaving the first margin. Errors: the driver's.
  Result<Bytes> reach() const;
  // Raises the budget to that, if it is below the limit. kWhenDue: only if the driver probably has more than at the
  // last query, because a query has a cost.
  enum class Ask : bool { kWhenDue, kNow };
  void regain(Ask ask);
  // The upper limit is this from now on, or what the budget is at the moment if that is more. The ceiling does not
  // rise.
  void set_limit(Bytes limit);
  // Until the next call the budget is at most this: other programs are entitled to the rest of the limit. Returns spare
  // frames beyond it to the driver; what is used beyond it stays in the budget until it is given back and this is
  // called again.
  void set_ceiling(Bytes ceiling);
  // The driver may have memory again that was not ours: regain() becomes due.
  void expect_more();
  // The budget does not rise until end_yield(), and then rises to what the driver has left. Several callers may yield
  // at once.
  void begin_yield();
  void end_yield();
  // Returns spare frames to the driver, and lowers the budget to what is still held.
  void yield_spare();

 protected:
  HandleTier(Location location, Bytes capacity, Margin margin = {});

  // Called under the tier's lock. The result becomes Frame::value.
  virtual Result<std::uint64_t> create_handle(Bytes bytes) = 0;
  // Errors: the driver's; the handle is unchanged.
  virtual Status destroy_handle(std::uint64_t value, Bytes bytes) = 0;
  // What create_handle could still allocate. Errors: kNotSupported where nothing else uses the same memory.
  virtual Result<Bytes> machine_free() const;
  // The budget exceeded the memory that exists. REQUIRES: this much of it is not used.
  void lower_capacity(Bytes by);
  // Creates one more spare frame, if fewer than `ahead` bytes of the class are spare and the budget has room beside
  // everything held. False when it did not.
  bool make_spare(PageClass page_class, Bytes ahead);
  // take(), if nothing has to be created or destroyed for it.
  std::optional<Frame> take_spare(PageClass page_class);
  bool is_spare_below(PageClass page_class, Bytes ahead) const;
  // For the derived tier's destructor. REQUIRES: every frame was returned or written off.
  void destroy_all();

 private:
  using Pool = std::array<std::vector<std::uint64_t>, kPageClasses.size()>;

  Result<Frame> find(PageClass page_class) REQUIRES_LOCK(mutex_);
  bool wants_spare(PageClass page_class, Bytes ahead) const REQUIRES_LOCK(mutex_);
  bool make_budget(Bytes bytes) REQUIRES_LOCK(mutex_);
  Result<Frame> create(PageClass page_class) REQUIRES_LOCK(mutex_);
  bool destroy_one(PageClass page_class) REQUIRES_LOCK(mutex_);
  void destroy_until(Bytes keep) REQUIRES_LOCK(mutex_);
  Status no_room(Bytes bytes) const REQUIRES_LOCK(mutex_);
  Bytes spare_of(PageClass page_class) const REQUIRES_LOCK(mutex_);
  // Call when the capacity or the used bytes have changed.
  void publish() REQUIRES_LOCK(mutex_);
  Bytes held() const REQUIRES_LOCK(mutex_) { return used_ + spare_; }
  void push_spare(PageClass page_class, std::uint64_t value) REQUIRES_LOCK(mutex_);
  std::uint64_t pop_spare(PageClass page_class) REQUIRES_LOCK(mutex_);  // REQUIRES: one is spare
  Result<Bytes> could_hold(Bytes margin) const REQUIRES_LOCK(mutex_);
  void raise() REQUIRES_LOCK(mutex_);
  void note_shortfall(Bytes bytes) REQUIRES_LOCK(mutex_);

  const Location location_;
  const Margin margin_;
  mutable Mutex mutex_{LockRank::kTier};
  bool has_yielded_ GUARDED_BY(mutex_) = false;
  Bytes limit_ GUARDED_BY(mutex_);
  Bytes ceiling_ GUARDED_BY(mutex_);  // at most limit_
  Bytes capacity_ GUARDED_BY(mutex_);
  std::uint32_t yields_ GUARDED_BY(mutex_) = 0;  // in progress
  bool more_expected_ GUARDED_BY(mutex_) = false;
  Bytes returned_ GUARDED_BY(mutex_);  // in frames, since the driver was last queried
  Pool pool_ GUARDED_BY(mutex_);
  Bytes spare_ GUARDED_BY(mutex_);  // in all of it
  Bytes used_ GUARDED_BY(mutex_);
  Bytes lost_ GUARDED_BY(mutex_);
  Bytes peak_used_ GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> room_;  // written under the lock
};

}  // namespace tessera
