// The bundles of one allocator, by domain: where places come from and go back to.
//
// All blocks of a bundle are for one stream and tag. A block takes a free place that is about as large, at most a
// sixteenth of itself too large; else it goes behind the last block of the bundle where least room is left then: the
// tails of those made before are what a burst fills first. A place freed on the bundle's own stream (or on none)
// serves again at once; one freed on another waits in a line of its domain until that stream has passed the free.
//
// The places of a planned bundle are told by their number in the plan, and for nobody else.
//
// What a new bundle has beyond its first block is held for nothing until others come. So it is made for more of
// that size, and has at most twice what its domain has in bundles already: the first is for one, and few blocks make
// no large ones. And a launch that needs one block of a bundle has all of it on the device, hence the limit.
//
// One lock: blocks made in bursts are made by one thread after another, and seldom freed.
//
// Thread safety: every call may be made from any thread.
//
// Invariants (validate()): each place of each bundle is in one state: free, in its domain's line, or live (or about
// to be: out of the cache). Run::live counts the last. Room above 1 MiB behind the last place is on offer. Neither
// that nor the free places of a planned bundle are.
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
  // A new bundle for more than one block has at most `limit` bytes.
  // REQUIRES: `streams` outlives it, limit <= Bundle::kMostBurstBytes.
  BundleCache(const StreamTable& streams, Bytes limit) : streams_(streams), limit_(limit) {}

  // A place for a block of so many bytes; none when no bundle of the domain has one.
  Address take(const SharingKey& key, Bytes block);
  // The one that a plan says; none where its bundle does not exist, or it is not free.
  Address take(Spot spot);
  bool has_planned(std::uint32_t number) const;
  // Frees those places in the domain's line whose streams have passed, as of the last poll. False when the line
  // is empty.
  bool settle(const SharingKey& key);
  bool has_late(const SharingKey& key) const;
  // Of the run that a new bundle for such a block is to have.
  Bytes bytes_for(const SharingKey& key, Bytes block) const;

  // The place is free for its bundle's stream.
  void give(Bundle& bundle, Address address);
  // It is, once that work is over.
  void give_late(Bundle& bundle, Address address, Late late);
  // The stream is going: its free places wait for its last work, too.
  void retire(StreamId stream, Late late);

  // As take(), from a new bundle. REQUIRES: bundle->run is set, it has no place yet and room for the block.
  Address add(std::unique_ptr<Bundle> bundle, Bytes block);
  // Puts a bundle back that remove_empty() gave.
  void add(std::unique_ptr<Bundle> bundle);
  // Bundles of free places leave the cache, those only whose run no stream uses any more if `quiet`; at least
  // `bytes` if there are so many.
  std::vector<std::unique_ptr<Bundle>> remove_empty(Bytes bytes, bool quiet);
  // What a caller must wait for to have every line empty.
  Late latest() const;
  void settle_all();

  Bytes empty_bytes() const { return Bytes(empty_.load()); }
  std::uint64_t bundles() const;
  void for_each(const std::function<void(const Bundle&)>& see) const;
  std::vector<std::unique_ptr<Bundle>> remove_all();
  // REQUIRES: no place is out of the cache and not live.
  Status validate() const;

 private:
  // A free place, or what is left behind the last.
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
    Gaps rooms;                  // above kSlotLimit: no place is smaller
    std::deque<LatePlace> late;  // in the order of their frees
    Bytes bytes;                 // of all its bundles, ...
    Bytes planned;               // ... and of those that are planned
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
  std::map<SharingKey, Home> homes_ GUARDED_BY(mutex_);  // of domains that have bundles
  std::unordered_map<const Bundle*, std::unique_ptr<Bundle>> bundles_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint32_t, Bundle*> planned_ GUARDED_BY(mutex_);  // by number
  std::atomic<std::uint64_t> empty_{0};  // bytes of bundles whose places are all free
};

}  // namespace tessera
