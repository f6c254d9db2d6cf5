// The pool that each device allocates from, as the driver has named it: an allocation asks it again only after a call
// that may have changed the answer.
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "cuda_api.hpp"

namespace tessera::preload {

class CurrentPools {
 public:
  constexpr CurrentPools() = default;

  // `ask(pool)` asks the driver, and returns whether it has answered.
  template <class Ask>
  bool find(CUdevice device, CUmemoryPool& pool, Ask ask) {
    if (device < 0 || static_cast<std::size_t>(device) >= known_.size()) return ask(pool);
    Known& known = known_[static_cast<std::size_t>(device)];
    const std::uint64_t now = changes_.load(std::memory_order_acquire);
    if (known.changes.load(std::memory_order_acquire) == now) [[likely]] {
      pool = known.pool.load(std::memory_order_acquire);
      return true;
    }
    if (!ask(pool)) return false;
    const std::lock_guard<std::mutex> lock(lock_);
    if (changes_.load(std::memory_order_relaxed) != now) return true;  // the answer may be out of date
    known.pool.store(pool, std::memory_order_release);
    known.changes.store(now, std::memory_order_release);
    return true;
  }

  // Call when a call has returned that may have made another pool the current one.
  void forget() { changes_.fetch_add(1); }

 private:
  struct Known {
    std::atomic<std::uint64_t> changes{0};
    std::atomic<CUmemoryPool> pool{nullptr};
  };

  std::atomic<std::uint64_t> changes_{1};
  std::array<Known, 64> known_{};  // by device
  std::mutex lock_;                // for storing answers
};

// The instance of this process.
CurrentPools& current_pools();

}  // namespace tessera::preload
