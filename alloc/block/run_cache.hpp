// Single blocks, live and cached: whole runs that wait for a request of their exact size.
//
// Why exact: a larger run would waste pages, and to cut one is the page manager's work. When no
// cached run fits, a new one is made; cached ones that nobody wants go back to the page manager,
// whose extents merge, and their frames to the device tier, which recycles them. So a cached large
// run becomes small ones by release and acquire, without a second place that splits.
//
// Blocks are spread over shards by class and tag, each with a lock of its own.
//
// Thread safety: every call may be made from any thread.
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

  // A cached block of the key's class and tag, freed on the key's stream or on none; the newest.
  SingleBlock* take(const CacheKey& key);
  // One freed on any stream, all uses of which are over as of the last poll; the oldest.
  SingleBlock* take_quiet(const CacheKey& key);
  // Whether a block is cached that take() would not give.
  bool has_other(const CacheKey& key) const;

  // Caches it by the stream it was freed on. REQUIRES: it was added, is not live, not cached.
  void put(SingleBlock& block);
  // The stream is going: what was freed on it serves only when its work is over.
  void retire(StreamId stream);

  // REQUIRES: block->run is set. The block is not cached.
  SingleBlock* add(std::unique_ptr<SingleBlock> block);
  // Cached blocks leave, oldest first, those only whose run no stream uses any more if `quiet`; at
  // least `bytes` if there are so many.
  std::vector<std::unique_ptr<SingleBlock>> remove_cached(Bytes bytes, bool quiet);

  Bytes cached_bytes() const;
  std::uint64_t blocks() const;
  void for_each(const std::function<void(const SingleBlock&)>& see) const;
  std::vector<std::unique_ptr<SingleBlock>> remove_all();
  // `in_thread_caches` has the blocks that are in thread caches.
  Status validate(const std::unordered_set<const BlockOwner*>& in_thread_caches) const;

 private:
  struct Cached {
    SingleBlock* block;
    std::uint64_t turn;  // counts puts: tells which is older
  };
  using Line = std::deque<Cached>;  // oldest first
  // Lines of one class and tag are neighbours.
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
  Status validate_shard(const Shard& shard,
                        const std::unordered_set<const BlockOwner*>& in_thread_caches,
                        Bytes& bytes) const;

  const StreamTable& streams_;
  std::array<Shard, kShards> shards_;
  std::atomic<std::uint64_t> cached_bytes_{0};
  std::atomic<std::uint64_t> turn_{0};
};

}  // namespace tessera
