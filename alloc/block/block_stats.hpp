// Counters of the block layer, and the sums per tag.
//
// Thread safety: values; LiveMeter from any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.hpp"

namespace tessera {

struct BlockStats {
  std::uint64_t live_blocks = 0;
  Bytes live_bytes, peak_live_bytes;  // as requested; the peak is exact within LiveMeter::kGrain per thread
  std::uint64_t allocations = 0, frees = 0;
  std::uint64_t cache_hits = 0;  // allocations served by the thread's own cache
  Bytes cached_bytes;            // free blocks in the shared caches: single blocks, empty slot pages, empty bundles
  std::uint64_t slot_pages = 0, bundles = 0, single_blocks = 0, mappable_blocks = 0;
};

struct TagUse {
  TagId tag;
  std::uint64_t live_blocks = 0;
  Bytes live_bytes;
};

// The sum of live bytes and its peak. Threads add to it in grains, and add the bytes of a free only at their
// next free, so that threads which reallocate what they free do not share a cache line, whatever the size. The
// owner of the threads' counters (BlockCounts) adds the remainders that they hold back.
class alignas(64) LiveMeter {
 public:
  static constexpr std::int64_t kGrain = 256 << 10;

  // Returns whether this may be a new peak: see raise().
  [[nodiscard]] bool add(std::int64_t bytes) {
    const std::int64_t now = live_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    return bytes > 0 && now > peak_.load(std::memory_order_relaxed);
  }
  // `live` is the sum including what all threads hold back.
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
