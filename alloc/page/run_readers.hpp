// Tracks readers of runs, so that a run can be removed while other threads look addresses up.
//
// A launch looks its words up in the page map without a lock; a word may be stale, so the run it finds may be
// in removal. Readers register themselves; a thread that has taken a run off the map waits until all readers
// that could have seen it have left. Each slot has two counters, used in turn, so that a steady flow of readers
// cannot starve the waiter (the scheme of sleepable RCU). A thread with a number of its own is its slot's only
// writer: it enters with one ordered store and leaves with a plain one. Leaving wakes no waiter, so the waiter
// polls.
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/mutex.hpp"
#include "base/thread_number.hpp"

namespace tessera {

class RunReaders {
 public:
  struct Ticket {
    std::uint32_t slot = 0;
    std::uint32_t phase = 0;
  };

  // Sequentially consistent, like the remover's side. A reader counts itself, then reads the map; the remover
  // clears the map, then reads the counters. So one of the two sees the other.
  Ticket enter() {
    const Ticket ticket{thread_number(), phase_.load()};
    auto& inside = slots_[ticket.slot].inside[ticket.phase];
    if (ticket.slot != kSharedThreadNumber) {
      inside.store(inside.load(std::memory_order_relaxed) + 1);
    } else {
      inside.fetch_add(1);
    }
    return ticket;
  }
  // REQUIRES: called on the thread that entered.
  void leave(Ticket ticket) {
    auto& inside = slots_[ticket.slot].inside[ticket.phase];
    if (ticket.slot != kSharedThreadNumber) {
      inside.store(inside.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    } else {
      inside.fetch_sub(1, std::memory_order_release);
    }
  }
  // Returns when every reader that entered before the call has left. REQUIRES: the calling thread is not a
  // reader.
  void wait_for_all();

 private:
  struct alignas(64) Slot {
    std::array<std::atomic<std::uint32_t>, 2> inside{};
  };

  void drain(std::uint32_t phase) const;

  std::array<Slot, kThreadSlots> slots_;
  alignas(64) std::atomic<std::uint32_t> phase_{0};
  Mutex mutex_{LockRank::kPage};  // one waiter at a time
};

}  // namespace tessera
