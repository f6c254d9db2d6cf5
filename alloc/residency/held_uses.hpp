// Uses under way whose runs are held and may not leave, and the calls that wait for one of them to let go.
//
// A use holds its runs while the caller is outside of the gate: from when they have come until it is inside, or to its
// end where it returns with its work done. A call that finds no room for that reason steps aside without the lock.
//
// Thread safety: every call by any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/backoff.hpp"
#include "residency/run.hpp"
#include "residency/use.hpp"

namespace tessera {

class HeldUses {
 public:
  void hold(Runs runs) {
    for (Run* run : runs) run->holds.fetch_add(1);
    add();
  }
  // One whose runs are held already.
  void add() { count_.fetch_add(1); }
  void let_go(Runs runs) {
    for (Run* run : runs) run->holds.fetch_sub(1);
    ends_.fetch_add(1);  // first: who sees no held use any more sees that one let go
    count_.fetch_sub(1);
    ends_.notify_all();
  }
  // Something else has ended that a call may wait for: whoever waits looks again.
  void wake() {
    ends_.fetch_add(1);
    ends_.notify_all();
  }

  std::uint32_t count() const { return count_.load(); }
  // Grows whenever one lets go.
  std::uint32_t ends() const { return ends_.load(); }
  // Waits until there are others than these, which the caller saw before it looked.
  void await_end(std::uint32_t seen) const { ends_.wait(seen); }
  // The same, in real time, for so long at most: false where there are none by then.
  bool await_end(std::uint32_t seen, Nanoseconds limit) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit.value());
    for (Backoff backoff; ends_.load() == seen; backoff.pause()) {
      if (std::chrono::steady_clock::now() >= until) return false;
    }
    return true;
  }

 private:
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> ends_{0};
};

}  // namespace tessera
