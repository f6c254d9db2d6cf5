// The bundles of one allocator by domain: allocates and frees their places.
//
// All blocks of a bundle serve one stream and tag. A block takes a free place of about its size, at most a
// sixteenth too large. Otherwise it goes behind the last block of the bundle with the least room that still
// fits it, so that a burst first fills the tails of older bundles. A place freed on the bundle's own stream (or
// on none) is reusable at once; one freed on another stream waits in a queue of its domain until that stream
// has passed the free.
//
// The places of a planned bundle are allocated by their number in the plan, and only for it.
//
// Whatever a new bundle has beyond its first block is unused until other blocks come. So it is sized for more
// blocks of that size, but at most twice what its domain already has in bundles: the first is for one block,
// and few blocks do not create large bundles. A launch that needs one block of a bundle needs all of it on the
// device, hence the limit.
//
// A single lock is enough: blocks of bursts are allocated by one thread after another and seldom freed.
//
// Thread safety: all functions may be called from any thread.
//
// Invariants (validate()): each place of each bundle is in one state: free, in its domain's queue, or live (or
// out of the cache and about to be). Run::live counts this last group. Room above 1 MiB behind the last place is
// listed as available, except in planned bundles; so are free places, with the same exception.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "block/bundle.hpp"
#include "block/cache_key.hpp"
#include "block/placed_blocks.hpp"

namespace tessera {

class BundleCache {
 public:
  // A new bundle for more than one block has at most `limit` bytes. REQUIRES: `streams` outlives it, limit <=
  // Bundle::kMostBurstBytes.
  BundleCache(const StreamTable& streams, Bytes limit) : streams_(streams), limit_(limit) {}

  // Takes a place for a block of this size; null if no bundle of the domain has one.
  Address take(const SharingKey& key, Bytes block);
  // Takes the place that a plan assigns; null if its bundle does not exist or the place is not free.
  Address take(Spot spot);
  bool has_planned(std::uint32_t number) const;
  // Frees the queued places of the domain with streams that have passed, as of the last poll. Returns false if
  // the queue is empty.
  bool settle(const SharingKey& key);
  bool has_late(const SharingKey& key) const;
  // The run size for a new bundle for such a block.
  Bytes bytes_for(const SharingKey& key, Bytes block) const;

  // Frees a place for its bundle's stream.
  void give(Bundle& bundle, Address address);
  // Frees a place once `late` has completed.
  void give_late(Bundle& bundle, Address address, Late late);
  // The stream is being destroyed: its free places also wait for its last work.
  void retire(StreamId stream, Late late);

  // Takes the first place of a new bundle. REQUIRES: bundle->run is set, and it has no place yet and room for
  // the block.
  Address add(std::unique_ptr<Bundle> bundle, Bytes block);
  // Puts back a bundle that remove_empty() returned.
  void add(std::unique_ptr<Bundle> bundle);
  // Removes bundles with only free places, at least `bytes` if there are that many; if `quiet`, only those with
  // runs that no stream uses any more.
  std::vector<std::unique_ptr<Bundle>> remove_empty(Bytes bytes, bool quiet);
  // The work to wait for before every queue can be emptied.
  Late latest() const;
  void settle_all();

  Bytes empty_bytes() const { return Bytes(empty_.load()); }
  std::uint64_t bundles() const;
  void for_each(const std::function<void(const Bundle&)>& see) const;
  std::vector<std::unique_ptr<Bundle>> remove_all();
  // REQUIRES: no place is out of the cache without being live.
  Status validate() const;

 private:
  // A free place, or the room behind the last place.
  struct Gap {
    Bytes bytes;
    Address address;
    Bundle* bundle;
    bool operator<(const Gap& other) const {
      return bytes != other.bytes ? bytes < other.bytes : address < other.address;
    }
  };
  using Gaps = std::set<Gap>;
  struct LatePlace {
    Bundle* bundle;
    std::uint32_t place;
    Late late;
  };
  struct Home {
    Gaps free;
    Gaps rooms;                  // larger than kSlotLimit, the minimum of a place
    std::deque<LatePlace> late;  // in order of their frees
    Bytes bytes;                 // of all its bundles
    Bytes planned;               // of its planned bundles
  };

  static SharingKey key_of(const Bundle& bundle) { return {bundle.stream, bundle.tag}; }
  static Gap free_gap(Bundle& bundle, std::uint32_t place) {
    return {bundle.capacity(place), bundle.address(place), &bundle};
  }
  static Gap room_gap(Bundle& bundle) { return {bundle.room(), bundle.room_at(), &bundle}; }
  static std::uint32_t place_of(const Bundle& bundle, Address address) {
    return bundle.place_at(address - bundle.run->address).value_or(0);
  }
  Home& adopt(std::unique_ptr<Bundle> bundle) REQUIRES_LOCK(mutex_);
  Address append(Home& home, Bundle& bundle, Bytes block) REQUIRES_LOCK(mutex_);
  void list_room(Home& home, Bundle& bundle) REQUIRES_LOCK(mutex_);
  void take_place(Bundle& bundle) REQUIRES_LOCK(mutex_);
  void free_place(Home& home, Bundle& bundle, std::uint32_t place) REQUIRES_LOCK(mutex_);
  void settle_home(Home& home) REQUIRES_LOCK(mutex_);
  std::unique_ptr<Bundle> detach(Bundle& bundle) REQUIRES_LOCK(mutex_);
  static bool offers_room(const Bundle& bundle) { return !bundle.planned && bundle.room() > kSlotLimit; }
  Status validate_bundle(const Bundle& bundle, const Home& home) const REQUIRES_LOCK(mutex_);

  const StreamTable& streams_;
  const Bytes limit_;
  mutable Mutex mutex_{LockRank::kBlock};
  std::map<SharingKey, Home> homes_ GUARDED_BY(mutex_);  // domains that have bundles
  std::unordered_map<const Bundle*, std::unique_ptr<Bundle>> bundles_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint32_t, Bundle*> planned_ GUARDED_BY(mutex_);  // by number
  std::atomic<std::uint64_t> empty_{0};                                    // bytes of bundles with only free places
};

}  // namespace tessera
