// Counting and validation for block_cache.hpp.
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "block/block_cache.hpp"

namespace tessera {
namespace {

std::int64_t as_signed(Bytes bytes) { return static_cast<std::int64_t>(bytes.value()); }

}  // namespace

void BlockCache::count_allocation(ThreadCache* cache, Bytes bytes, bool hit) {
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

void BlockCache::count_free(ThreadCache* cache, Bytes bytes) {
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

// The thread ends, so its remainder must be added here.
void BlockCache::empty(ThreadCache& cache) {
  cache.steal([this](Address address) { put_shared(address); });
  const std::int64_t sum = cache.counts().live_bytes.get();
  cache.counts().live_bytes.clear();
  add_live(sum);
}

void BlockCache::add_live(std::int64_t bytes) {
  if (live_.add(bytes)) live_.raise(live_bytes());
}

// Other threads may continue meanwhile; the result is then a mix of sums at different moments.
std::int64_t BlockCache::live_bytes() const {
  std::int64_t live = live_.live();
  threads_.for_each([&](const ThreadCache& cache) { live += cache.counts().live_bytes.get(); });
  return live;
}

std::uint64_t BlockCache::frees() const {
  std::int64_t frees = 0;
  threads_.for_each([&](const ThreadCache& cache) { frees += cache.counts().frees.get(); });
  return static_cast<std::uint64_t>(frees) + other_frees_.load();
}

BlockStats BlockCache::stats() const {
  BlockStats stats;
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
  stats.cached_bytes = runs_.cached_bytes() + slot_pages_.empty_bytes() + bundles_.empty_bytes();
  stats.slot_pages = slot_pages_.pages();
  stats.bundles = bundles_.bundles();
  stats.single_blocks = runs_.blocks();
  stats.mappable_blocks = mappable_.blocks();
  return stats;
}

std::vector<TagUse> BlockCache::tags() const {
  std::map<TagId, TagUse> sums;
  const auto count = [&](const BlockOwner& owner, const BlockWord& word, Bytes capacity) {
    const BlockState state = word.read();
    if (!state.live) return;
    TagUse& use = sums[owner.tag];
    use.tag = owner.tag;
    ++use.live_blocks;
    use.live_bytes += capacity - state.slack;
  };
  runs_.for_each([&](const SingleBlock& block) { count(block, block.word, block.size_class.bytes()); });
  mappable_.for_each([&](const MappableBlock& block) { count(block, block.word, block.size_class.bytes()); });
  slots_.for_each([&](const Slab& slab) {
    for (std::uint32_t slot = 0; slot < slab.slots(); ++slot) count(slab, slab.word(slot), slab.size_class.bytes());
  });
  bundles_.for_each([&](const Bundle& bundle) {
    for (std::uint32_t place = 0; place < bundle.places(); ++place) {
      count(bundle, bundle.word(place), bundle.capacity(place));
    }
  });
  std::vector<TagUse> uses;
  for (const auto& [tag, use] : sums) uses.push_back(use);
  return uses;
}

Status BlockCache::validate() const {
  std::unordered_map<const BlockOwner*, std::uint32_t> in_slabs;
  std::unordered_set<const BlockOwner*> singles;
  Status result;
  threads_.for_each([&](const ThreadCache& cache) {
    cache.for_each([&](Address address) {
      const auto block = locate(pages_.find(address), address);
      const bool fine = block && block->address == address && !block->word->read().live &&
                        (block->owner->kind == OwnerKind::kSlab ||
                         (block->owner->kind == OwnerKind::kSingle && singles.insert(block->owner).second));
      if (!fine) {
        result = Status(Code::kInternal, fmt::format("a thread's cache has {:#x}, which is not a free "
                                                     "block, or is cached twice",
                                                     address.value()));
      } else if (block->owner->kind == OwnerKind::kSlab) {
        ++in_slabs[block->owner];
      }
    });
  });
  TESSERA_TRY(result);
  TESSERA_TRY(runs_.validate(singles));
  TESSERA_TRY(slots_.validate([&](const Slab& slab) {
    const auto found = in_slabs.find(&slab);
    return found == in_slabs.end() ? 0 : found->second;
  }));
  TESSERA_TRY(slot_pages_.validate());
  TESSERA_TRY(bundles_.validate());
  const BlockStats now = stats();
  if (now.slot_pages + now.bundles + now.single_blocks + now.mappable_blocks != pages_.stats().runs) {
    return Status(
        Code::kInternal,
        fmt::format("{} pages of slots, {} bundles, {} single and {} mappable blocks, but {} runs", now.slot_pages,
                    now.bundles, now.single_blocks, now.mappable_blocks, pages_.stats().runs));
  }
  TagUse sum;
  for (const TagUse& use : tags()) {
    sum.live_blocks += use.live_blocks;
    sum.live_bytes += use.live_bytes;
  }
  if (sum.live_blocks != now.live_blocks || sum.live_bytes != now.live_bytes) {
    return Status(Code::kInternal,
                  fmt::format("{} bytes in {} live blocks, but {} in {} counted", sum.live_bytes.value(),
                              sum.live_blocks, now.live_bytes.value(), now.live_blocks));
  }
  return Status::ok();
}

}  // namespace tessera
