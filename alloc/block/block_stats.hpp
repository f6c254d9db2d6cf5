// What the block layer counts, and the sums of one tag.
//
// Thread safety: values; LiveMeter by any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.hpp"

namespace tessera {

struct BlockStats {
  std::uint64_t live_blocks = 0;
  Bytes live_bytes, peak_live_bytes;  // as asked for; the peak within LiveMeter::kGrain per thread
  std::uint64_t allocations = 0, frees = 0;
  std::uint64_t cache_hits = 0;       // allocations served by the thread's own cache
  Bytes cached_bytes;                 // free blocks in the shared caches: pages of slots and bundles that are wholly free
  std::uint64_t slot_pages = 0, bundles = 0, single_blocks = 0;
};

struct TagUse {
  TagId tag;
  std::uint64_t live_blocks = 0;
  Bytes live_bytes;
};

// The sum of live bytes and its highest value. Threads add to it in grains, and the bytes of what a thread
// freed last when it frees again, so that threads which allocate what they free do not share a cache line,
// whatever the size. What they hold back is for whoever keeps their counts to add (BlockCache).
class alignas(64) LiveMeter {
 public:
  static constexpr std::int64_t kGrain = 256 << 10;

  // Whether there may be a new peak: see raise().
  [[nodiscard]] bool add(std::int64_t bytes) {
    const std::int64_t now = live_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    return bytes > 0 && now > peak_.load(std::memory_order_relaxed);
  }
  // `live` is the sum with all that threads hold back.
  void raise(std::int64_t live) {
    std::int64_t peak = peak_.load(std::memory_order_relaxed);
    while (live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
    }
  }
  std::int64_t live() const { return live_.load(std::memory_order_relaxed); }
  std::int64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> live_{0};
  std::atomic<std::int64_t> peak_{0};
};

}  // namespace tessera
