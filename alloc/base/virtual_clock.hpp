// A clock that stands still until a caller waits, and then jumps to the next event.
//
// It is the single event queue of a simulated machine: the copy engines of its devices and its disk schedule
// their completions here, so everything that one thread starts is carried out in time order and a run is a pure
// function of its inputs. With several threads it is still correct, but their interleaving decides the order of
// events, unless a Sharing lets one of them run at a time.
//
// Thread safety: all functions but share_by() may be called from any thread. An action runs in the thread that steps,
// with no lock of the clock held.
//
// Invariants: actions run in order of time, and in scheduling order at equal times; now() is monotonic.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"

namespace tessera {

class VirtualClock final : public Clock {
 public:
  // What the threads of one simulated machine do when one of them waits: others go on before time does.
  class Sharing {
   public:
    virtual ~Sharing() = default;
    // VirtualClock::step_within for the calling thread.
    virtual bool step_within(Nanoseconds limit) = 0;
  };
  // From now on each wait asks `sharing`; null: none. REQUIRES: no other call is in progress.
  void share_by(Sharing* sharing) { sharing_ = sharing; }

  Nanoseconds now() const override { return Nanoseconds(now_.load(std::memory_order_acquire)); }

  // Schedules `action` for time `at`, or for now if that has passed.
  void schedule(Nanoseconds at, std::function<void()> action) EXCLUDES_LOCK(mutex_);
  // Advances to the next action and runs it. Returns false if there is none.
  bool step() EXCLUDES_LOCK(mutex_);
  // Like step(), but only if the next action is due by `limit`.
  bool step_within(Nanoseconds limit) EXCLUDES_LOCK(mutex_);
  // The same whatever other threads do. For a Sharing.
  bool advance_within(Nanoseconds limit) EXCLUDES_LOCK(mutex_);
  // Whether a thread runs an action now. If none does and none is due, only another call can change anything.
  bool is_acting() const { return acting_.load(std::memory_order_acquire) != 0; }
  // Runs all actions due by `until`, then advances the clock to `until`.
  void run_until(Nanoseconds until) EXCLUDES_LOCK(mutex_);

 private:
  struct Due {
    Nanoseconds at;
    std::uint64_t turn = 0;
    std::function<void()> action;
  };
  static bool is_later(const Due& a, const Due& b) { return a.at != b.at ? a.at > b.at : a.turn > b.turn; }

  Sharing* sharing_ = nullptr;
  std::atomic<std::uint64_t> now_{0};
  std::atomic<std::uint32_t> acting_{0};  // threads that run an action
  Mutex mutex_{LockRank::kObserve};
  std::uint64_t next_turn_ GUARDED_BY(mutex_) = 0;
  std::vector<Due> due_ GUARDED_BY(mutex_);  // a heap, earliest first
};

}  // namespace tessera
