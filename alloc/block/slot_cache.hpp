// The slabs of one allocator by domain: allocates and frees their slots. Their pages come and go in slot_pages.hpp.
//
// All blocks of a slab serve one class, stream and tag, so its page never mixes domains. A slot freed on the
// slab's own stream (or on none) is reusable at once; one freed on another stream waits in a queue of its
// domain until that stream has passed the free.
//
// Domains are spread over shards with a lock each, and a thread's cache returns blocks in batches, so threads
// that free each other's blocks seldom contend.
//
// Thread safety: all functions may be called from any thread.
//
// Invariants (validate()): each slot of each slab is in one state: free in the slab, in its domain's queue, in
// a thread's cache, or live. Run::live counts the last two over all slabs of the page.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "block/cache_key.hpp"
#include "block/empty_pages.hpp"

namespace tessera {

class SlotCache {
 public:
  // REQUIRES: `streams` outlives it.
  explicit SlotCache(const StreamTable& streams) : streams_(streams) {}

  // Takes free slots of one line of the fullest slab that has any, at most out.size(); returns the number taken.
  std::size_t take(const CacheKey& key, std::span<Address> out);
  // Frees the queued slots of the domain with streams that have passed, as of the last poll. Returns false if
  // the queue is empty.
  bool settle(const CacheKey& key);
  bool has_late(const CacheKey& key) const;

  struct Place {
    Slab* slab;
    Address address;
  };
  // Frees these slots, all of one domain, for its stream.
  void give(std::span<const Place> slots);
  void give(Slab& slab, Address address) { give({{{&slab, address}}}); }
  // Frees a slot once `late` has completed.
  void give_late(Slab& slab, Address address, Late late);
  // The stream is being destroyed: its free slots also wait for its last work.
  void retire(StreamId stream, Late late);

  // The bytes of the domain's slabs.
  Bytes bytes_of(const CacheKey& key) const;
  // Like take(), from this slab, which is new.
  std::size_t add(std::unique_ptr<Slab> slab, std::span<Address> out);
  // Removes slabs that are a page each, without a slot in use and with a run that `may_go`: at most `most`.
  std::vector<std::unique_ptr<Slab>> remove_empty(std::size_t most, const std::function<bool(const Run&)>& may_go);
  // Null if a slot of it is in use, or it is just being added; then it stays.
  std::unique_ptr<Slab> remove_if_empty(Slab& slab);
  std::vector<std::unique_ptr<Slab>> remove_all();
  // The work to wait for before every queue can be emptied.
  Late latest() const;
  void settle_all();

  EmptyPages& empty_pages() { return empty_; }
  const EmptyPages& empty_pages() const { return empty_; }
  void for_each(const std::function<void(const Slab&)>& see) const;
  // `cached(slab)` is the number of its slots in thread caches.
  Status validate(const std::function<std::uint32_t(const Slab&)>& cached) const;

 private:
  struct LateSlot {
    Slab* slab;
    std::uint32_t slot;
    Late late;
  };
  // In eighths, then by address: sparse slabs stay sparse, so that they empty.
  struct FullestFirst {
    bool operator()(const Slab* a, const Slab* b) const {
      return a->listed_as() != b->listed_as() ? a->listed_as() < b->listed_as() : a->address(0) < b->address(0);
    }
  };
  struct Home {
    std::set<Slab*, FullestFirst> with_free;
    std::deque<LateSlot> late;  // in order of their frees
    Bytes bytes;                // of all its slabs
  };

  struct alignas(64) Shard {
    mutable Mutex mutex{LockRank::kBlock};  // one shard at a time
    std::map<CacheKey, Home> homes GUARDED_BY(mutex);
    std::unordered_map<const Slab*, std::unique_ptr<Slab>> slabs GUARDED_BY(mutex);
  };
  static constexpr std::size_t kShards = 16;
  static constexpr int kShardShift = 64 - 4;

  static CacheKey key_of(const Slab& slab) { return {slab.size_class, slab.stream, slab.tag}; }
  static std::uint32_t slot_of(const Slab& slab, Address address);
  Shard& shard_of(const CacheKey& key) { return shards_[mixed(key) >> kShardShift]; }
  const Shard& shard_of(const CacheKey& key) const { return shards_[mixed(key) >> kShardShift]; }
  // take_line() to settle_home() REQUIRE the lock of the slab's shard.
  std::size_t take_line(Slab& slab, std::span<Address> out);
  static void list(Home& home, Slab& slab);
  static void relist(Home& home, Slab& slab);
  void free_slot(Home& home, Slab& slab, std::uint32_t slot);
  void settle_home(Home& home);
  Status validate_shard(const Shard& shard, const std::function<std::uint32_t(const Slab&)>& cached,
                        std::unordered_map<const Run*, std::uint32_t>& out) const;
  std::unique_ptr<Slab> detach(Shard& shard, Slab& slab) REQUIRES_LOCK(shard.mutex);

  const StreamTable& streams_;
  std::array<Shard, kShards> shards_;
  EmptyPages empty_;
};

}  // namespace tessera
