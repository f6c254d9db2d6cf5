// Single blocks, live and cached: whole runs that wait for a request of their exact size.
//
// Exact, because a larger run would waste pages, and splitting one is the page manager's job. If no cached run
// fits, a new one is created. Unused cached runs return to the page manager, which merges their extents, and
// their frames to the device tier, which recycles them. So a cached large run becomes small ones by release and
// acquire, and nothing else splits runs.
//
// Blocks are spread over shards by class and tag, each with its own lock.
//
// Thread safety: all functions may be called from any thread.
//
// Invariants (validate()): a cached block is not live; the bytes add up.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.hpp"
#include "block/block_owner.hpp"
#include "block/cache_key.hpp"

namespace tessera {

class RunCache {
 public:
  // REQUIRES: `streams` outlives it.
  explicit RunCache(const StreamTable& streams) : streams_(streams) {}

  // The newest cached block of the key's class and tag, freed on the key's stream or on none.
  SingleBlock* take(const CacheKey& key);
  // The oldest one freed on any stream and not in use as of the last poll.
  SingleBlock* take_quiet(const CacheKey& key);
  // Whether a block is cached that take() would not return.
  bool has_other(const CacheKey& key) const;

  // Caches a block by the stream it was freed on. REQUIRES: it was added, is not live and not cached.
  void put(SingleBlock& block);
  // The stream is being destroyed: blocks freed on it serve only when its work is complete.
  void retire(StreamId stream);

  // REQUIRES: block->run is set. The block is not cached.
  SingleBlock* add(std::unique_ptr<SingleBlock> block);
  // Removes cached blocks, oldest first, at least `bytes` if there are that many; if `quiet`, only those with
  // runs that no stream uses any more.
  std::vector<std::unique_ptr<SingleBlock>> remove_cached(Bytes bytes, bool quiet);

  Bytes cached_bytes() const;
  std::uint64_t blocks() const;
  void for_each(const std::function<void(const SingleBlock&)>& see) const;
  std::vector<std::unique_ptr<SingleBlock>> remove_all();
  // `in_thread_caches` contains the blocks that thread caches hold.
  Status validate(const std::unordered_set<const BlockOwner*>& in_thread_caches) const;

 private:
  struct Cached {
    SingleBlock* block;
    std::uint64_t turn;  // put counter: gives the order of puts
  };
  using Line = std::deque<Cached>;  // oldest first
  // Ordered so that lines of one class and tag are adjacent.
  struct LineKey {
    SizeClass size_class;
    TagId tag;
    StreamId stream;
    constexpr auto operator<=>(const LineKey&) const = default;
  };
  using Lines = std::map<LineKey, Line>;
  struct alignas(64) Shard {
    mutable Mutex mutex{LockRank::kBlock};  // one shard at a time
    std::unordered_map<const SingleBlock*, std::unique_ptr<SingleBlock>> blocks GUARDED_BY(mutex);
    Lines lines GUARDED_BY(mutex);  // none is empty
  };
  static constexpr std::size_t kShards = 16;
  static constexpr int kShardShift = 64 - 4;

  static std::size_t shard_of(SizeClass size_class, TagId tag) {
    return mixed({size_class, StreamId(), tag}) >> kShardShift;
  }
  Shard& shard_of(const SingleBlock& block) { return shards_[shard_of(block.size_class, block.tag)]; }
  bool is_quiet(const SingleBlock& block) const;
  SingleBlock* take_newest(Shard& shard, const LineKey& key) REQUIRES_LOCK(shard.mutex);
  void count_out(Bytes bytes) { cached_bytes_ -= bytes.value(); }
  Status validate_shard(const Shard& shard, const std::unordered_set<const BlockOwner*>& in_thread_caches,
                        Bytes& bytes) const;

  const StreamTable& streams_;
  std::array<Shard, kShards> shards_;
  std::atomic<std::uint64_t> cached_bytes_{0};
  std::atomic<std::uint64_t> turn_{0};
};

}  // namespace tessera
