// Counts announced uses and the runs in them, without a shared cache line.
//
// Most threads have a slot to themselves and count by a load and a store; threads beyond that share
// the last slot and pay for an atomic addition.
//
// Thread safety: any thread. A concurrent sum() may miss counts in progress, and never adds any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/thread_number.hpp"

namespace tessera {

class UseCounts {
 public:
  struct Sum {
    std::uint64_t launches = 0;
    std::uint64_t uses = 0;
  };

  // One launch with `uses` uses, by the calling thread, the number of which is `thread`.
  void add(std::uint32_t thread, std::uint64_t uses) {
    if (thread != kSharedThreadNumber) {
      Slot& own = slots_[thread];
      bump(own.launches, 1);
      bump(own.uses, uses);
    } else {
      slots_[thread].launches.fetch_add(1, std::memory_order_relaxed);
      slots_[thread].uses.fetch_add(uses, std::memory_order_relaxed);
    }
  }

  Sum sum() const {
    Sum sum;
    for (const Slot& slot : slots_) {
      sum.launches += slot.launches.load(std::memory_order_relaxed);
      sum.uses += slot.uses.load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> launches{0};
    std::atomic<std::uint64_t> uses{0};
  };

  static void bump(std::atomic<std::uint64_t>& own, std::uint64_t by) {
    own.store(own.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  std::array<Slot, kThreadSlots> slots_;
};

}  // namespace tessera
