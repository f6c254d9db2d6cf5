// Who is looking at runs right now: lets a run be removed while others look addresses up.
//
// A launch looks its words up in the page map without a lock; a word may be stale, so the run it
// finds may be on its way out. Readers announce themselves; who has taken a run off the map waits
// until all that could have seen it are gone. Two counters per slot, used in turn, so that readers
// that keep coming cannot keep the waiting one forever (the scheme of sleepable RCU). A thread with a
// number of its own is its slot's only writer, so it comes with one ordered store and goes with a plain
// one; nobody is woken by that, so the waiting one looks again and again.
//
// Thread safety: that is its job.
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

  // Sequentially consistent, as is the remover's side. A reader counts itself, then looks at the map;
  // the remover clears the map, then looks at the counters: one of the two sees the other.
  Ticket enter() {
    const Ticket ticket{thread_number(), phase_.load()};
    auto& inside = slots_[ticket.slot].inside[ticket.phase];
    if (ticket.slot < kOwnThreadNumbers) {
      inside.store(inside.load(std::memory_order_relaxed) + 1);
    } else {
      inside.fetch_add(1);
    }
    return ticket;
  }
  // By the thread that entered.
  void leave(Ticket ticket) {
    auto& inside = slots_[ticket.slot].inside[ticket.phase];
    if (ticket.slot < kOwnThreadNumbers) {
      inside.store(inside.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    } else {
      inside.fetch_sub(1, std::memory_order_release);
    }
  }
  // Returns when every reader that entered before the call has left.
  // REQUIRES: the calling thread is not a reader.
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
