// Tracks streams and their fences, to determine when all uses up to an epoch are over.
//
// A launch stamps its blocks with an epoch and a stream slot. Before a block is moved, the engine asks here whether
// each stream that used it has passed the block's last epoch. The answer comes from fences: events recorded on the
// stream, each labelled with the newest epoch it covers. A fence is recorded when the question is asked, or when a
// large block is freed while memory is short, so a program that never runs short records none.
//
// The epoch clock is part of this class because uses and fences interact: a use gets an epoch of its own; a free gets
// the next one, which it shares with other frees; and a fence closes all epochs that it covers, so a stamp drawn later
// is greater than the fence's label. Frees therefore cost no tick.
//
// A kernel may use a block unannounced, if an earlier kernel wrote the block's address into device memory (grouped
// GEMMs and batched linear algebra do). Such a use follows within a few launches on the same stream. The table
// therefore also reports whether a stream has queued a few launches since an epoch; until then a block should stay.
//
// Work on a stream that cannot be fenced here counts as work of kNoStream, which is over when the device is idle.
//
// There are 64 slots, so that a block can name its users in one word. Further streams share slots: answers come later
// then, but are never wrong. The slot of a per-thread stream is reused once its thread and its work have ended.
//
// Thread safety: every call may be made from any thread; note_use inside the gate, or for work that is queued already.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/atomic_max.hpp"
#include "base/epoch.hpp"
#include "base/mutex.hpp"
#include "driver/driver.hpp"
#include "residency/streams/slots_in.hpp"
#include "residency/streams/stream_keys.hpp"
#include "residency/streams/work_progress.hpp"

namespace tessera {

// The calling thread's own default stream (CU_STREAM_PER_THREAD).
inline constexpr StreamId kPerThreadStream{2};
// No stream: the caller guarantees that no queued work uses the block.
inline constexpr StreamId kNoStream{~std::uint64_t{0}};

class StreamTable {
 public:
  static constexpr std::uint32_t kSlots = kStreamSlots;
  static constexpr Epoch kAllSoFar = Epoch::forever();             // for fence(): all noted uses
  static constexpr std::uint64_t kAllStreams = ~std::uint64_t{0};  // as a mask
  static constexpr std::uint32_t kMostGrace = 16;
  // The stream may queue nothing more, so the grace also ends after this many times as many launches on all streams.
  static constexpr std::uint64_t kGraceOfAll = 8;

  static constexpr Nanoseconds kUsualPatience{2'000'000'000};
  // A stream that makes progress completes something within this time.
  static constexpr Nanoseconds kMoment{2'000'000};

  // `patience`: the longest wait for work that no event covers. `queue_depth`: as in DeviceProperties.
  StreamTable(Driver& driver, DeviceId device, Nanoseconds patience = kUsualPatience, std::size_t queue_depth = 0)
      : driver_(driver), device_(device), patience_(patience), queue_depth_(queue_depth) {}
  ~StreamTable();

  // For work that is about to be queued: a unique epoch.
  Epoch tick() { return Epoch(ticks_.fetch_add(1) + 1); }
  // For work that is queued already. REQUIRES: note_use() with it before the stamp can be read.
  Epoch open_epoch() const { return epoch().next(); }
  // All stamps from now on are greater than `epoch`.
  void close(Epoch epoch) { raise_to(ticks_, epoch.value()); }
  // The newest epoch that was ticked or closed.
  Epoch epoch() const { return Epoch(ticks_.load()); }

  // The slot of a stream, assigned at its first use. Cheap afterwards.
  std::uint32_t slot_of(StreamId stream) {
    const auto slot = stream == kPerThreadStream ? std::nullopt : keys_.slot_of(stream);
    if (slot) [[likely]]
      return *slot;
    return find_slot(stream);
  }
  // Those of these slots that streams have had so far: most programs have few streams, and questions about all of them
  // are asked for each page that moves. Cheap.
  std::uint64_t in_use(std::uint64_t mask) const {
    const std::uint32_t used = used_slots_.load(std::memory_order_acquire);
    return used == kSlots ? mask : mask & ((std::uint64_t{1} << used) - 1);
  }
  // Whether the stream was used here; a stream of another device was not.
  bool knows(StreamId stream);
  // A use with this epoch is about to be queued on the slot's stream, or is already queued there. Cheap.
  void note_use(std::uint32_t slot, Epoch epoch) {
    raise_to(slots_[slot].last, epoch);
    note_recent(slots_[slot], epoch);
  }
  // The same with a plain store: of two concurrent calls the smaller epoch may remain. REQUIRES: the caller is inside
  // the gate, and no per-thread stream is fenced by its own thread (fence_own).
  void note_use_inside(std::uint32_t slot, Epoch epoch) {
    std::atomic<Epoch>& last = slots_[slot].last;
    if (last.load(std::memory_order_relaxed) < epoch) last.store(epoch, std::memory_order_release);
    note_recent(slots_[slot], epoch);
  }
  // Whether the stream in `mask` that was last used at `epoch` has queued `grace` uses since, or all streams together
  // kGraceOfAll times as many. Approximate where threads share a stream: of two concurrent uses one may not be counted.
  // Cheap. REQUIRES: grace <= kMostGrace.
  bool is_past_grace(std::uint64_t mask, Epoch epoch, std::uint32_t grace) const;
  // A per-thread default stream can be fenced only by its own thread: call after queueing there.
  Status fence_own(std::uint32_t slot);

  // Records a fence on every stream in `mask` without one that covers its uses up to `epoch`, except on a stream that
  // may be full and makes no progress, where the call would block; a later wait then queries the stream itself.
  // REQUIRES: the uses noted so far have queued their work (the gate is closed).
  Status fence(std::uint64_t mask, Epoch epoch);
  // Polls the pending fences.
  Status poll();
  // Whether every stream in `mask` is done with its uses up to `epoch`, as of the last poll. Cheap.
  bool passed(std::uint64_t mask, Epoch epoch) const;
  // Records a fence before work that is about to be queued, for uses up to `epoch`. REQUIRES: these are queued.
  Status mark(std::uint32_t slot, Epoch epoch);
  // The epochs between which the unfinished work of a slot lies: covered by the last fence that passed, and by the
  // next.
  struct Reach {
    Epoch after{}, until{};
  };
  std::optional<Reach> reach_of_next(std::uint32_t slot);
  // The program has waited for its work noted up to `epoch` on the stream, or on all streams of the device's context.
  // REQUIRES: that work was queued when the program's wait began.
  void note_over(StreamId stream, Epoch epoch);
  void note_all_over(Epoch epoch);
  // Makes `waiter` wait on the device for that work. REQUIRES: fence(mask, epoch) was called. Errors: kBusy where
  // it cannot be made to.
  Status make_wait(StreamId waiter, std::uint64_t mask, Epoch epoch);
  // The program destroys the stream: records its last fence while that is still possible.
  Status retire(StreamId stream);

  // What a wait still has to wait for (stream_waits.hpp).
  struct Unpassed {
    std::uint64_t slots = 0;
    StreamId stream{};               // of the first that can be queried
    std::optional<EventId> fence{};  // the same, where there is one
    Epoch label{};                   // the same
    bool can_be_looked_at = false;
  };
  Unpassed unpassed(std::uint64_t mask, Epoch epoch);
  // Keys of threads that have ended and will queue nothing more.
  std::vector<std::uint64_t> left_by_threads();
  // The device was found idle after left_by_threads() had returned `left`: the work up to `epoch` is over.
  Status note_device_idle(std::uint64_t mask, Epoch epoch, const std::vector<std::uint64_t>& left);
  Epoch completed(std::size_t slot) const { return slots_[slot].completed.load(); }
  // Whether all uses noted on the slot are known to be over.
  bool is_over(std::size_t slot) const { return completed(slot) >= slots_[slot].last.load(); }
  WorkProgress& progress() { return progress_; }

 private:
  struct Fence {
    Epoch epoch{};
    EventId event;
    std::uint32_t turn;  // of its slot, when it was recorded
  };
  struct User {
    StreamId stream;
    std::uint64_t thread = 0;  // of a per-thread default stream
    bool retired = false;
    bool takes_events = true;    // false: it is gone, or a default stream whose context is not the current one
    Epoch completed{};           // label of the newest fence that has passed
    std::uint32_t turn = 0;      // of its slot: work before it is known to be over
    std::vector<Fence> pending;  // oldest first, at most kMaxPending
  };
  struct alignas(64) Slot {
    std::atomic<Epoch> last{};                            // newest epoch noted
    std::atomic<Epoch> completed{};                       // every user has passed this epoch
    std::vector<User> users;                              // under mutex_
    std::array<std::atomic<Epoch>, kMostGrace> recent{};  // epochs of the last uses
    std::atomic<std::uint32_t> turn{0};                   // the next index into `recent`
  };
  static constexpr std::size_t kMaxPending = 1024;

  static void note_recent(Slot& slot, Epoch epoch) {
    const std::uint32_t turn = slot.turn.load(std::memory_order_relaxed);
    slot.recent[turn % kMostGrace].store(epoch, std::memory_order_relaxed);
    slot.turn.store(turn + 1, std::memory_order_relaxed);
  }
  // The newest epoch on this slot that matters for a question about `epoch`.
  static Epoch needed(const Slot& slot, Epoch epoch);
  static std::vector<Fence>::const_iterator first_covering(const User& user, Epoch label);
  // slot_of() for streams that are not found at their first key.
  std::uint32_t find_slot(StreamId stream);
  std::uint32_t assign(StreamId stream, std::uint64_t thread);
  std::uint32_t choose_slot(std::size_t hash) REQUIRES_LOCK(mutex_);
  Status record(Slot& slot, User& user, Epoch label) REQUIRES_LOCK(mutex_);
  Status record(User& user, Epoch label, std::uint32_t turn) REQUIRES_LOCK(mutex_);
  Result<bool> takes_fence(Slot& slot, User& user) REQUIRES_LOCK(mutex_);
  Status declare_dead(User& user) REQUIRES_LOCK(mutex_);
  void forget(User& user) REQUIRES_LOCK(mutex_);
  // Whether a missing fence may mean a full stream, and any thread can wait for the stream itself.
  bool can_be_asked(const User& user) const {
    return queue_depth_ != 0 && user.takes_events && user.thread == 0 && !user.retired && user.stream != kNoStream;
  }
  static bool is_left(const User& user);  // by a thread that ended
  void look_for_ended_threads() REQUIRES_LOCK(mutex_);
  // Recycles the events of the user's first `count` fences.
  void drop_pending(User& user, std::size_t count) REQUIRES_LOCK(mutex_);
  Status poll_slot(Slot& slot) REQUIRES_LOCK(mutex_);
  void note_over(Slot& slot, User& user, Epoch epoch) REQUIRES_LOCK(mutex_);
  static void sum_up(Slot& slot);
  std::size_t index_of(const Slot& slot) const { return static_cast<std::size_t>(&slot - slots_.data()); }
  Result<EventId> take_event() REQUIRES_LOCK(mutex_);

  Driver& driver_;
  const DeviceId device_;
  const Nanoseconds patience_;
  const std::size_t queue_depth_;
  Mutex mutex_{LockRank::kStreams};
  StreamKeys keys_;  // written under mutex_
  std::array<Slot, kSlots> slots_;
  WorkProgress progress_;
  std::atomic<std::uint32_t> used_slots_{0};         // the first ones; written under mutex_
  alignas(64) std::atomic<std::uint64_t> ticks_{0};  // the value of the newest epoch
  std::vector<EventId> spare_events_ GUARDED_BY(mutex_);
};

}  // namespace tessera
