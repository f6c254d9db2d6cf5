// Which block serves a request: the front of this layer.
//
// The steps before out of memory. Each is tried only when those before it had nothing:
//  1. the thread's own cache: a block of this class, stream and tag (no lock, no driver call);
//  2. the shared cache: a block freed on this stream, or on no stream;
//  3. a block freed on another stream that has passed the free;
//  4. a new run from free pages; its frames are free ones, or recycled;
//  5. (residency) frames of the other page class, cold runs to the host, host to the file;
//  6. the blocks of all threads' caches, and every cached block whose work is over, go back to the
//     pages; then 2 to 5 again;
//  7. the same after waiting for the work on all cached blocks;
//  8. out of memory, with a sentence.
// Once the program repeats itself, blocks above 1 MiB may have a place in a bundle by plan (placed_blocks.hpp); whoever
// has one is served by it before step 1, or by a new bundle.
// A block of up to 1 MiB is a slot of a slab, which is for one (class, stream, tag) for life, a page or a part of one
// (shared_page.hpp); one of up to 16 MiB that is made in a burst (burst.hpp) has a place in a bundle. The slabs of a
// page, and the blocks of a bundle, are for one (stream, tag). Those freed
// on another stream come back to their own one in step 3, and slabs and bundles change hands by being wholly free
// in step 6. Other blocks change streams in step 3; none changes its tag.
//
// Which blocks live is told by their words alone; Run::live counts a slot, and a place in a bundle, from when it leaves
// the shared cache, because to count what threads take from their own would write to a line that they
// share. allocate() makes the word live before it reads Run::missing: the engine drops the bytes of
// dead runs, and does it by raising `missing` first and reading the words after. One of the two sees
// the other.
//
// Thread safety: every call may be made from any thread; look-ups take no lock. validate() and the
// destructor when no other call is under way.
//
// Invariants (validate()): every slot, place and single block is live, or in exactly one cache, or
// in line for a stream; Run::live adds up; the runs are those of the page manager.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "block/block_stats.hpp"
#include "block/bundle_cache.hpp"
#include "block/burst.hpp"
#include "block/run_cache.hpp"
#include "block/slot_cache.hpp"
#include "block/thread_caches.hpp"
#include "page/page_manager.hpp"

namespace tessera {

struct BlockCacheOptions {
  // Free blocks above this go back to the pages as soon as their work is over. What thread caches
  // hold is bounded by their size, and not counted.
  Bytes warm_limit = 4_GiB;

  // A bundle has at most so many bytes: a launch that needs one block of it has all of it on the device.
  Bytes bundle_limit = Bundle::kMostBurstBytes;
  Bytes planned_limit = Bundle::kMostBytes;

  // A step frees up to what a device holds and takes it again; cached blocks cost addresses, since their
  // frames serve others meanwhile. Thirty blocks of a launch, each of another bundle, leave room for what else it uses.
  static BlockCacheOptions for_device(Bytes memory) {
    const BlockCacheOptions usual;
    return {std::max(memory, usual.warm_limit), std::min(memory / 64, usual.bundle_limit),
            std::min(memory / 4, usual.planned_limit)};
  }
};

struct BlockInfo {
  Run* run = nullptr;
  Address address;  // of the first byte
  Bytes bytes;      // as asked for
  Bytes capacity;
  TagId tag;
  std::uint64_t generation = 0;  // grows with each reuse
};

class BlockCache {
 public:
  // REQUIRES: residency and pages outlive it, and nobody else acquires from `pages`.
  BlockCache(Residency& residency, PageManager& pages, BlockCacheOptions options = {});
  // Releases all runs, those of live blocks too. REQUIRES: as Residency::remove.
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // A block for work on `stream`, aligned to 512; with kNoStream it is there on return.
  // Errors: kInvalidArgument for zero bytes, kOutOfMemory after step 7, or what the driver said.
  Result<Address> allocate(Bytes bytes, StreamId stream, TagId tag);
  // Work queued on `stream` so far may still use the block; with kNoStream the caller vouches that
  // none does. Errors: kNotFound for all but the first byte of a live block.
  Status free(Address address, StreamId stream);

  // The live block that holds this byte. Errors: kNotFound. `run` is valid until it is freed.
  Result<BlockInfo> find(Address address) const;
  // The run that has this byte, if any block in it may be live, else null: all that a launch has to
  // know.
  // REQUIRES: a Lookup lives, or the caller is inside the gate (Residency::try_use).
  static Run* live_run_of(const PageMap& pages, Address address) {
    Run* const run = pages.find(address);
    return run && run->live.load(std::memory_order_relaxed) != 0 ? run : nullptr;
  }
  // The run of the live block that has this byte, else null. REQUIRES: as live_run_of().
  static Run* block_run_of(const PageMap& pages, Address address) {
    Run* const run = pages.find(address);
    return run && lives_at(run, address) ? run : nullptr;
  }
  // Looks up many addresses; the runs it tells stay valid while it lives. Keep it short, and
  // allocate, free and trim nothing meanwhile.
  class Lookup {
   public:
    explicit Lookup(const BlockCache& blocks) : blocks_(blocks), reader_(blocks.pages_) {}
    // Of the live block that holds this byte; null when there is none.
    Run* run_of(Address address) const { return block_run_of(blocks_.pages_.map(), address); }
    // All of it; nothing when there is none.
    std::optional<BlockInfo> block_of(Address address) const;

   private:
    const BlockCache& blocks_;
    const PageManager::Reader reader_;
  };

  // Step 6. Errors: the first one of the driver; the other blocks are given back all the same.
  Status trim();
  // Call before the program destroys a stream; tells residency as well.
  Status retire(StreamId stream);

  BlockStats stats() const;
  // Live blocks summed by tag, in the order of tags. Walks all blocks.
  std::vector<TagUse> tags() const;
  Status validate() const;

 private:
  struct Request {
    Bytes bytes;
    StreamId stream;
    CacheKey key;
    const Spot* spot = nullptr;  // by plan
    bool in_bundle = false;      // it is made in a burst
  };
  // Work queued on `stream` so far may use the block until the stream has passed `epoch`.
  struct Freed {
    StreamId stream;
    std::uint64_t epoch = 0;
  };
  struct Located {
    Run* run = nullptr;
    BlockOwner* owner = nullptr;
    BlockWord* word = nullptr;
    Address address;
    Bytes capacity;
    Slab& slab() const { return static_cast<Slab&>(*owner); }
    Bundle& bundle() const { return static_cast<Bundle&>(*owner); }
    SingleBlock& single() const { return static_cast<SingleBlock&>(*owner); }
  };

  // The block, live or not, whose capacity holds the byte. REQUIRES: the run cannot be released.
  static std::optional<Located> locate(Run* run, Address address);
  static std::optional<Located> locate_in(Bundle& bundle, Run* run, Address address);
  // Whether a live block has the byte.
  static bool lives_at(Run* run, Address address);
  static std::optional<BlockInfo> info_of(Run* run, Address address);
  Result<Address> allocate_cached(const Request& request);
  Result<Address> allocate_noted(Request request);
  AllocationLog::Stay stay_at(Address address) const;
  Status start(const Located& block, const Request& request);
  Status not_ours(Address address) const;
  void count_allocation(ThreadCache* cache, Bytes bytes, bool hit);
  void count_free(ThreadCache* cache, Bytes bytes);
  void empty(ThreadCache& cache);
  void add_live(std::int64_t bytes);
  std::int64_t live_bytes() const;
  std::uint64_t frees() const;

  // block_steps.cpp
  Result<Address> allocate_slow(Request request, ThreadCache* cache);
  bool belongs_in_bundle(const Request& request);
  Result<Address> serve(const Request& request, ThreadCache* cache);
  Result<Address> serve_spot(const Request& request);
  Address take_shared(const Request& request, ThreadCache* cache);
  Address take_slots(const CacheKey& key, ThreadCache* cache);
  Address take_slots_settled(const CacheKey& key, ThreadCache* cache);
  Address take_place_settled(const Request& request);
  Result<Address> grow(const Request& request, ThreadCache* cache);
  Result<Address> grow_slots(const CacheKey& key, ThreadCache* cache);
  Result<Address> grow_bundle(const Request& request);
  Result<Run*> acquire_for(Bundle& bundle);
  Address keep_rest(const CacheKey& key, ThreadCache* cache, std::span<const Address> slots);
  void cache_freed(const Located& block, Freed freed, ThreadCache* cache);
  void cache_late(const Located& block, Freed freed);
  void make_place(const CacheKey& key, ThreadCache& cache);
  void put_shared(std::span<const Address> addresses);
  void put_shared(Address address) { put_shared({&address, 1}); }
  Status give_back(Bytes bytes, bool quiet) REQUIRES_LOCK(give_back_mutex_);
  Status wait_for_cached();
  void shed();
  void poll();

  Residency& residency_;
  PageManager& pages_;
  const BlockCacheOptions options_;
  SlotCache slots_;
  BundleCache bundles_;
  RunCache runs_;
  Burst burst_;
  PlacedBlocks placed_;
  ThreadCaches threads_;
  LiveMeter live_;
  // Runs on their way back are in no cache and not free yet. Who runs out of memory meanwhile waits
  // here and tries again, and so never fails for want of them.
  Mutex give_back_mutex_{LockRank::kGiveBack};
  // Of calls by threads that are ending, and so have no cache.
  std::atomic<std::uint64_t> other_allocations_{0};
  std::atomic<std::uint64_t> other_frees_{0};
};

inline std::optional<BlockCache::Located> BlockCache::locate(Run* run, Address address) {
  if (!run) return std::nullopt;
  auto* const owner = static_cast<BlockOwner*>(run->owner.record);
  if (owner->kind == OwnerKind::kSingle) {
    return Located{run, owner, &static_cast<SingleBlock*>(owner)->word, run->address, owner->size_class.bytes()};
  }
  if (owner->kind == OwnerKind::kBundle) [[unlikely]] return locate_in(static_cast<Bundle&>(*owner), run, address);
  auto* slab = static_cast<Slab*>(owner);
  if (owner->kind == OwnerKind::kSharedPage) {
    slab = static_cast<SharedPage*>(owner)->slab_at(address - run->address);
    if (!slab) return std::nullopt;
  }
  const Address start = run->address + slab->start;
  const auto slot = slab->slot_at(address - start);
  if (!slot) return std::nullopt;
  return Located{run, slab, &slab->word(*slot), start + slab->offset(*slot), slab->size_class.bytes()};
}

inline bool BlockCache::lives_at(Run* run, Address address) {
  const auto block = locate(run, address);
  if (!block) return false;
  const BlockState state = block->word->read();
  return state.live && address - block->address < block->capacity - state.slack;
}

}  // namespace tessera
