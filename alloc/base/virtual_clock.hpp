// A clock that stands still until somebody waits, and then jumps to the next thing that happens.
//
// It is the one queue of events of a simulated machine: the engines of its devices and its disk ask
// for their ends here, so that what one thread does is carried out in one order, the order of time.
// A run is then a pure function of its inputs. With several threads nothing breaks, but who comes
// first is theirs to decide.
//
// Thread safety: every call may be made from any thread. An action runs in the thread that steps,
// and no lock of the clock is held meanwhile.
//
// Invariants: actions happen in order of time, those of one time in the order they were asked for;
// now() never goes back.
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
  Nanoseconds now() const override { return Nanoseconds(now_.load(std::memory_order_acquire)); }

  // Lets `action` happen at `at`, or now if that has passed.
  void schedule(Nanoseconds at, std::function<void()> action) EXCLUDES_LOCK(mutex_);
  // Jumps to the next action and carries it out. False when there is none.
  bool step() EXCLUDES_LOCK(mutex_);
  // The same, if it is no later than `limit`.
  bool step_within(Nanoseconds limit) EXCLUDES_LOCK(mutex_);
  // The same for all actions up to `until`, where the clock then stands.
  void run_until(Nanoseconds until) EXCLUDES_LOCK(mutex_);

 private:
  struct Due {
    Nanoseconds at;
    std::uint64_t turn = 0;
    std::function<void()> action;
  };
  static bool is_later(const Due& a, const Due& b) {
    return a.at != b.at ? a.at > b.at : a.turn > b.turn;
  }

  std::atomic<std::uint64_t> now_{0};
  Mutex mutex_{LockRank::kObserve};
  std::uint64_t next_turn_ GUARDED_BY(mutex_) = 0;
  std::vector<Due> due_ GUARDED_BY(mutex_);  // a heap, the next one first
};

}  // namespace tessera
