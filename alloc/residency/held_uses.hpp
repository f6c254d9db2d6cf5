// Uses in progress that hold their runs, which blocks eviction, and calls that wait for one of them to let go.
//
// A use holds its runs while its thread is outside of the gate: from the end of the fetch until it enters, or until its
// end where the call returns with its work done. A call that finds no room because of that waits without the lock.
//
// Thread safety: every call by any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/backoff.hpp"
#include "residency/pages/run.hpp"
#include "residency/use.hpp"

namespace tessera {

class HeldUses {
 public:
  void hold(Runs runs) {
    for (Run* run : runs) run->holds.fetch_add(1);
    add();
  }
  // Begins a use of runs that are held already.
  void add() { count_.fetch_add(1); }
  void let_go(Runs runs) {
    for (Run* run : runs) run->holds.fetch_sub(1);
    ends_.fetch_add(1);  // first: a thread that sees no held use any more also sees that one ended
    count_.fetch_sub(1);
    ends_.notify_all();
  }
  // Another event happened that a call may wait for: all waiting calls check again.
  void wake() {
    ends_.fetch_add(1);
    ends_.notify_all();
  }

  std::uint32_t count() const { return count_.load(); }
  // Grows whenever a use lets go.
  std::uint32_t ends() const { return ends_.load(); }
  // Waits until ends() differs from `seen`, which the caller read before it looked.
  void await_end(std::uint32_t seen) const { ends_.wait(seen); }
  // The same with a real-time limit: false on timeout.
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
