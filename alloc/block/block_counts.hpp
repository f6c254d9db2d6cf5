// Counts allocations and frees, and the live bytes with their peak, over the counters of all threads.
//
// Thread safety: all functions may be called from any thread; a thread counts in its own cache. Sums are exact while no
// other call is in progress, else mixed from different moments.
#pragma once

#include <atomic>
#include <cstdint>

#include "block/block_stats.hpp"
#include "block/thread_caches.hpp"

namespace tessera {

class BlockCounts {
 public:
  // REQUIRES: `threads` outlives it.
  explicit BlockCounts(const ThreadCaches& threads) : threads_(threads) {}

  // `cache`: the calling thread's; null while it is ending. `hit`: the cache had the block.
  void note_allocation(ThreadCache* cache, Bytes bytes, bool hit);
  void note_free(ThreadCache* cache, Bytes bytes);
  // The cache's thread ends: what it has held back is added.
  void take_remainder(ThreadCache& cache);

  std::uint64_t frees() const;
  // Fills in the counts of blocks, live bytes, allocations, frees and hits.
  void sum_up(BlockStats& stats) const;

 private:
  void add_live(std::int64_t bytes);
  std::int64_t live_bytes() const;

  const ThreadCaches& threads_;
  LiveMeter live_;
  // Calls on threads that are ending and therefore have no cache.
  std::atomic<std::uint64_t> other_allocations_{0};
  std::atomic<std::uint64_t> other_frees_{0};
};

}  // namespace tessera
