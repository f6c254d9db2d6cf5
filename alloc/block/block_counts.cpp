#include "block/block_counts.hpp"

#include <algorithm>

namespace tessera {
namespace {

std::int64_t as_signed(Bytes bytes) { return static_cast<std::int64_t>(bytes.value()); }

}  // namespace

void BlockCounts::note_allocation(ThreadCache* cache, Bytes bytes, bool hit) {
  if (!cache) {
    other_allocations_.fetch_add(1, std::memory_order_relaxed);
    return add_live(as_signed(bytes));
  }
  ThreadCounts& counts = cache->counts();
  counts.allocations.add(1);
  counts.hits.add(hit ? 1 : 0);
  counts.live_bytes.add(as_signed(bytes));
  if (const std::int64_t sum = counts.live_bytes.get(); sum >= LiveMeter::kGrain) {
    counts.live_bytes.clear();
    add_live(sum);
  }
}

void BlockCounts::note_free(ThreadCache* cache, Bytes bytes) {
  if (!cache) {
    other_frees_.fetch_add(1, std::memory_order_relaxed);
    return add_live(-as_signed(bytes));
  }
  ThreadCounts& counts = cache->counts();
  counts.frees.add(1);
  // Earlier frees are added now; this one may be about to be reallocated.
  if (const std::int64_t sum = counts.live_bytes.get(); sum <= -LiveMeter::kGrain) {
    counts.live_bytes.clear();
    add_live(sum);
  }
  counts.live_bytes.add(-as_signed(bytes));
}

void BlockCounts::take_remainder(ThreadCache& cache) {
  const std::int64_t sum = cache.counts().live_bytes.get();
  cache.counts().live_bytes.clear();
  add_live(sum);
}

void BlockCounts::add_live(std::int64_t bytes) {
  if (live_.add(bytes)) live_.raise(live_bytes());
}

// Other threads may continue meanwhile; the result is then a mix of sums at different moments.
std::int64_t BlockCounts::live_bytes() const {
  std::int64_t live = live_.live();
  threads_.for_each([&](const ThreadCache& cache) { live += cache.counts().live_bytes.get(); });
  return live;
}

std::uint64_t BlockCounts::frees() const {
  std::int64_t frees = 0;
  threads_.for_each([&](const ThreadCache& cache) { frees += cache.counts().frees.get(); });
  return static_cast<std::uint64_t>(frees) + other_frees_.load();
}

void BlockCounts::sum_up(BlockStats& stats) const {
  stats.frees = frees();  // read before the allocations, so that no free is counted without its allocation
  std::int64_t allocations = 0, hits = 0;
  const std::int64_t live = live_bytes();
  threads_.for_each([&](const ThreadCache& cache) {
    allocations += cache.counts().allocations.get();
    hits += cache.counts().hits.get();
  });
  stats.allocations = static_cast<std::uint64_t>(allocations) + other_allocations_.load();
  stats.cache_hits = static_cast<std::uint64_t>(hits);
  // The counters run on while they are read, so differences are clamped at zero.
  stats.live_blocks = stats.allocations > stats.frees ? stats.allocations - stats.frees : 0;
  stats.live_bytes = Bytes(live > 0 ? static_cast<std::uint64_t>(live) : 0);
  stats.peak_live_bytes = std::max(stats.live_bytes, Bytes(static_cast<std::uint64_t>(live_.peak())));
}

}  // namespace tessera
