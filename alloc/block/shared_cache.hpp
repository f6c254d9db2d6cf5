// The free blocks that no thread's cache has, of all kinds: slots, places in bundles and single blocks. Takes runs from
// the pages for more of them, and gives them back. Steps 2 to 4 of block_cache.hpp, and what 6 and 7 return.
//
// Thread safety: all functions may be called from any thread, except where one call at a time is required.
#pragma once

#include <functional>
#include <span>
#include <unordered_set>

#include "block/block_stats.hpp"
#include "block/bundle_cache.hpp"
#include "block/located_block.hpp"
#include "block/run_cache.hpp"
#include "block/slot_cache.hpp"
#include "block/slot_pages.hpp"
#include "page/page_manager.hpp"

namespace tessera {

class SharedCache {
 public:
  // REQUIRES: residency and pages outlive it. `bundle_limit`: as in BlockCacheOptions.
  SharedCache(Residency& residency, PageManager& pages, Bytes bundle_limit);

  // Steps 2 and 3. Streams are polled only if something waits for them.
  // Up to out.size() slots of one line; returns their number.
  std::size_t take_slots(const CacheKey& key, std::span<Address> out);
  // Null where there is none.
  Address take_place(const CacheKey& key, Bytes bytes);
  Address take_single(const CacheKey& key);
  // The place that a plan assigns, in a new bundle if it is the first of one. Null if the place is still in use from
  // the previous pass. Errors: those of PageManager::acquire.
  Result<Address> take_spot(const CacheKey& key, const Spot& spot, const PlacedBlocks& placed);

  // Step 4. Errors: those of PageManager::acquire.
  // As take_slots(), from a part of a page shared with other classes, or a new page.
  Result<std::size_t> grow_slots(const CacheKey& key, std::span<Address> out);
  Result<Address> grow_place(const CacheKey& key, Bytes bytes);
  Result<Address> grow_single(const CacheKey& key);

  // REQUIRES: the blocks are free and in no cache; at most one magazine's worth.
  void put(std::span<const Address> addresses);
  void put(Address address) { put({&address, 1}); }
  // A slot or a place that is free once `late` has completed.
  void put_late(const LocatedBlock& block, Late late);
  // The stream with this key is being destroyed: what it has freed also waits for its last work.
  void retire(StreamId stream, Late late);

  // What waits for streams that have passed, as of the last poll, becomes free.
  void settle_all();
  // The work to wait for before everything can be settled.
  Late latest() const;
  // Returns free blocks to the pages, at least `bytes` if there are that many; if `quiet`, only those with runs that no
  // stream uses any more. REQUIRES: one call at a time. Errors: the first; the other blocks are returned all the same.
  Status give_back(Bytes bytes, bool quiet);
  // Removes everything, in use or not; calls release(run) for each run while its records exist.
  void remove_all(const std::function<void(Run*)>& release);

  Bytes cached_bytes() const;
  // Fills in the cached bytes and the numbers of slot pages, bundles and single blocks.
  void sum_up(BlockStats& stats) const;
  // Every block, free or not.
  void for_each(const std::function<void(const BlockOwner&, const BlockWord&, Bytes capacity)>& see) const;
  // What thread caches have: single blocks, and the number of slots per slab. REQUIRES: no other call is in progress.
  Status validate(const std::unordered_set<const BlockOwner*>& singles,
                  const std::function<std::uint32_t(const Slab&)>& slots) const;

 private:
  void poll();
  Result<Run*> acquire_for(Bundle& bundle);

  Residency& residency_;
  PageManager& pages_;
  SlotCache slots_;
  SlotPages slot_pages_;
  BundleCache bundles_;
  RunCache runs_;
};

}  // namespace tessera
