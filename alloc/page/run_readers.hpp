// Who is looking at runs right now: lets a run be removed while others look addresses up.
//
// A launch looks its words up in the page map without a lock; a word may be stale, so the run it
// finds may be on its way out. Readers announce themselves; who has taken a run off the map waits
// until all that could have seen it are gone. Two counters per slot, used in turn, so that readers
// that keep coming cannot keep the waiting one forever (the scheme of sleepable RCU).
//
// Thread safety: that is its job.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/mutex.hpp"

namespace tessera {

class RunReaders {
 public:
  struct Ticket {
    std::uint32_t slot = 0;
    std::uint32_t phase = 0;
  };

  Ticket enter();
  void leave(Ticket ticket);
  // Returns when every reader that entered before the call has left.
  // REQUIRES: the calling thread is not a reader.
  void wait_for_all();

 private:
  static constexpr std::uint32_t kSlots = 64;
  struct alignas(64) Slot {
    std::array<std::atomic<std::uint32_t>, 2> inside{};
  };

  void drain(std::uint32_t phase);

  std::array<Slot, kSlots> slots_;
  alignas(64) std::atomic<std::uint32_t> phase_{0};
  std::atomic<bool> waiting_{false};
  Mutex mutex_{LockRank::kPage};  // one waiter at a time
};

}  // namespace tessera
