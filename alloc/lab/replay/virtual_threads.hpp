// Threads that share one virtual clock and run one at a time, so that what they do together is a pure function of their
// inputs.
//
// A thread runs until it waits on the clock. Then the others run that are not waiting, in the order in which they were
// given, and only when all of them wait does time advance, by one action; after it each of them looks again whether its
// wait is over. Threads, because a program's calls wait deep inside the allocator.
//
// Thread safety: run() by one thread; the clock calls the rest.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "base/virtual_clock.hpp"

namespace tessera {

class VirtualThreads final : private VirtualClock::Sharing {
 public:
  // REQUIRES: `clock` outlives it, and no other thread waits on it during run().
  explicit VirtualThreads(VirtualClock& clock) : clock_(clock) {}

  // Runs each body in a thread of its own, from the present virtual time on, and returns when all are over. REQUIRES:
  // no body waits for another except on the clock. Errors: kBusy where a thread cannot be started; no body has run
  // then.
  Status run(std::span<const std::function<void()>> bodies) EXCLUDES_LOCK(mutex_);

 private:
  enum class State { kReady, kWaits, kOver };
  struct Member {
    State state = State::kReady;
    Nanoseconds limit{};           // of its wait
    bool stepped = false;          // how that ended
    std::uint64_t refused_at = 0;  // the number of the last end without a step, of all threads'
    Condition changed;
  };

  bool step_within(Nanoseconds limit) override EXCLUDES_LOCK(mutex_);
  void live(std::size_t index, const std::function<void()>& body) EXCLUDES_LOCK(mutex_);
  void await_turn(Member& self) REQUIRES_LOCK(mutex_);
  // Chooses the thread that runs next; the calling thread does not any more.
  void pass_on() REQUIRES_LOCK(mutex_);
  void advance() REQUIRES_LOCK(mutex_);

  VirtualClock& clock_;
  Mutex mutex_{LockRank::kObserve};
  std::deque<Member> members_ GUARDED_BY(mutex_);
  Member* running_ GUARDED_BY(mutex_) = nullptr;
  bool cancelled_ GUARDED_BY(mutex_) = false;
  std::uint64_t refusals_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera
