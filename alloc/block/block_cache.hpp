// Which block serves a request: the front of this layer.
//
// The steps before out of memory. Each is tried only if the previous ones found nothing:
//  1. the thread's own cache: a block of this class, stream and tag (no lock, no driver call);
//  2. the shared cache: a block freed on this stream, or on no stream;
//  3. a block freed on another stream that has passed the free;
//  4. a new run from free pages, on free or recycled frames;
//  5. (residency) frames of other page classes, cold runs evicted to the host, host pages spilled to the
//     file;
//  6. the blocks of all threads' caches, and every cached block whose work is complete, are returned to the
//     pages; then steps 2 to 5 again;
//  7. the same after waiting for pending work on all cached blocks;
//  8. out of memory, with a message.
//
// Once the program repeats, a plan may assign blocks above 1 MiB a place in a bundle (placed_blocks.hpp). Such
// a block is served from that place before step 1, or from a new bundle.
//
// A block of up to 1 MiB is a slot of a slab, which serves one (class, stream, tag) for its lifetime and is a
// page or part of one (shared_page.hpp). A block of up to 16 MiB allocated in a burst (burst.hpp) is a place in
// a bundle. All slabs of a page, and all blocks of a bundle, serve one (stream, tag). Those freed on another
// stream return to their own stream in step 3, and slabs and bundles change stream and tag only by becoming
// wholly free in step 6. Other blocks change streams in step 3. No block changes its tag.
//
// Only a block's word shows whether it is live. Run::live counts a slot, and a place in a bundle, from when it
// leaves the shared cache: counting what threads take from their own caches would write to a shared cache line.
// allocate() makes the word live before it reads Run::missing. The engine drops the bytes of dead runs, and
// does so by raising `missing` first and reading the words afterwards. So one of the two sees the other.
//
// Thread safety: all functions may be called from any thread; look-ups take no lock. validate() and the
// destructor require that no other call is in progress.
//
// Invariants (validate()): every slot, place and single block is live, or in exactly one cache, or queued for a
// stream, mappable blocks are live; Run::live adds up; the runs are those of the page manager.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/epoch.hpp"
#include "block/block_counts.hpp"
#include "block/block_stats.hpp"
#include "block/burst.hpp"
#include "block/cache_trim.hpp"
#include "block/located_block.hpp"
#include "block/mappable_blocks.hpp"
#include "block/placed_blocks.hpp"
#include "block/shared_cache.hpp"
#include "block/thread_caches.hpp"
#include "page/page_manager.hpp"

namespace tessera {

struct BlockCacheOptions {
  // Free blocks above this limit are returned to the pages as soon as their work completes. Thread caches are
  // bounded by their size and not counted here.
  Bytes warm_limit = 4_GiB;

  // The size limits of a bundle. A launch that needs one block of a bundle needs all of it on the device.
  Bytes bundle_limit = Bundle::kMostBurstBytes;
  Bytes planned_limit = Bundle::kMostBytes;

  // warm_limit: an iteration frees and reallocates up to a whole device's memory, and cached blocks cost only
  // addresses, because their frames serve other blocks meanwhile. bundle_limit: thirty blocks of one launch,
  // each in a different bundle, must leave room for the other blocks it uses.
  static BlockCacheOptions for_device(Bytes memory) {
    const BlockCacheOptions usual;
    return {std::max(memory, usual.warm_limit), std::min(memory / 64, usual.bundle_limit),
            std::min(memory / 4, usual.planned_limit)};
  }
};

class BlockCache {
 public:
  // REQUIRES: residency and pages outlive it, and no other code acquires from `pages`.
  BlockCache(Residency& residency, PageManager& pages, BlockCacheOptions options = {});
  // release_all()
  ~BlockCache();
  // Releases all runs, including those of live blocks. REQUIRES: as RunTable::remove; no other call follows.
  void release_all();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Allocates a block for work on `stream`, aligned to 512 bytes. With kNoStream its memory is ready on return.
  // Errors: kInvalidArgument for zero bytes, kOutOfMemory after step 7, or a driver error.
  Result<Address> allocate(Bytes bytes, StreamId stream, TagId tag);
  // Work queued on `stream` so far may still use the block; with kNoStream the caller guarantees that no work
  // does. Errors: kNotFound unless `address` is the first byte of a live block.
  Status free(Address address, StreamId stream);

  // The live block that contains this byte. Errors: kNotFound. `run` is valid until the block is freed.
  Result<BlockInfo> find(Address address) const;
  // The run that contains this byte if any block in it may be live, else null; sufficient for a launch.
  // REQUIRES: a Lookup exists, or the caller is inside the gate (Residency::try_use).
  static Run* live_run_of(const PageMap& pages, Address address) {
    Run* const run = pages.find(address);
    return run && run->live.load(std::memory_order_relaxed) != 0 ? run : nullptr;
  }
  // The run of the live block that contains this byte, else null. REQUIRES: as live_run_of().
  static Run* block_run_of(const PageMap& pages, Address address) {
    Run* const run = pages.find(address);
    return run && lives_at(run, address) ? run : nullptr;
  }
  // Looks up many addresses. The runs that it returns stay valid during its lifetime. Keep its scope short, and
  // do not allocate, free or trim within it.
  class Lookup {
   public:
    explicit Lookup(const BlockCache& blocks) : blocks_(blocks), reader_(blocks.pages_) {}
    // The run of the live block that contains this byte; null if there is none.
    Run* run_of(Address address) const { return block_run_of(blocks_.pages_.map(), address); }
    // The live block that contains this byte; empty if there is none.
    std::optional<BlockInfo> block_of(Address address) const {
      return live_block_at(blocks_.pages_.find(address), address);
    }

   private:
    const BlockCache& blocks_;
    const PageManager::Reader reader_;
  };

  // Step 6. Errors: the first driver error; the other blocks are returned to the pages all the same.
  Status trim() { return trim_.trim(); }
  // Call before the program destroys a stream; notifies residency as well.
  Status retire(StreamId stream);

  MappableBlocks& mappable() { return mappable_; }

  BlockStats stats() const;
  // Live blocks summed by tag, in tag order. Walks all blocks.
  std::vector<TagUse> tags() const;
  Status validate() const;

 private:
  struct Request {
    Bytes bytes;
    StreamId stream;
    CacheKey key;
    const Spot* spot = nullptr;  // the place assigned by a plan
    bool in_bundle = false;      // allocated in a burst
  };
  // Work queued on `stream` so far may use the block until the stream has passed `epoch`.
  struct Freed {
    StreamId stream;
    Epoch epoch{};
  };

  Result<Address> allocate_cached(const Request& request);
  Result<Address> allocate_noted(Request request);
  AllocationLog::Stay stay_at(Address address) const;
  Status start(const LocatedBlock& block, const Request& request);
  Status not_ours(Address address) const;
  Result<Address> allocate_slow(Request request, ThreadCache* cache);
  bool belongs_in_bundle(const Request& request);
  Result<Address> serve(const Request& request, ThreadCache* cache);
  Address take_shared(const Request& request, ThreadCache* cache);
  Result<Address> grow(const Request& request, ThreadCache* cache);
  Address keep_rest(const CacheKey& key, ThreadCache* cache, std::span<const Address> slots);
  void cache_freed(const LocatedBlock& block, Freed freed, ThreadCache* cache);
  void cache_late(const LocatedBlock& block, Freed freed);
  void make_place(const CacheKey& key, ThreadCache& cache);

  Residency& residency_;
  PageManager& pages_;
  SharedCache shared_;
  Burst burst_;
  PlacedBlocks placed_;
  ThreadCaches threads_;
  BlockCounts counts_;
  CacheTrim trim_;
  MappableBlocks mappable_;
};

}  // namespace tessera
