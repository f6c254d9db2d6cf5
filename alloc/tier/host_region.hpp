// Pinned host memory that grows in chunks up to a bound and is handed out in extents.
//
// One address reservation holds all chunks, with a gap after each: an extent never crosses a chunk, because a driver
// refuses a copy with a host range that spans two registrations. Chunks are backed and registered when they are first
// needed, so start-up does not pin a budget that is never used.
//
// Thread safety: every call may be made from any thread. Backing and pinning a chunk takes milliseconds: growth_ is
// held meanwhile and mutex_ is not, so take() and give() never wait for it.
//
// Invariants (validate())
//  1. The backed chunks add up to backed(), which is at most the capacity.
//  2. Free extents lie in backed chunks.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/extent_map.hpp"
#include "base/mutex.hpp"
#include "driver/driver.hpp"
#include "tier/host_pages.hpp"

namespace tessera {

class HostRegion {
 public:
  static constexpr Bytes kUnit = 4_KiB;

  // What happens to a chunk that the driver refuses to register.
  enum class Unregistered { kKept, kRefused };

  // REQUIRES: `driver` and `pages` outlive the region; `chunk` is not zero.
  HostRegion(Driver& driver, Bytes capacity, Bytes chunk, HostPages& pages = system_host_pages(),
             Unregistered unregistered = Unregistered::kKept);
  ~HostRegion();
  HostRegion(const HostRegion&) = delete;
  HostRegion& operator=(const HostRegion&) = delete;

  // Best fit among backed memory; null when nothing fits. REQUIRES: multiples of kUnit.
  void* take(Bytes bytes, Bytes alignment);
  // The same in units, where `grow(seen)` backs more as long as it returns true: grow(), or a function that delegates
  // it.
  template <class Grow>
  void* take_or_grow(Bytes bytes, const Grow& grow) {
    for (bool grown = true; grown;) {
      const std::uint64_t seen = growths();
      if (void* const found = take(bytes, kUnit)) return found;
      grown = grow(seen);
    }
    return take(bytes, kUnit);  // another thread may have returned an extent meanwhile
  }
  // REQUIRES: the range was taken; it may be a part of an extent, or several adjacent ones.
  void give(void* pointer, Bytes bytes);
  // Memory backed from now on is to be on this NUMA node.
  void settle(unsigned node) { node_.store(static_cast<int>(node), std::memory_order_relaxed); }
  // From now on at most this much of the capacity may be backed. False, without effect, if more is backed.
  bool limit_to(Bytes bytes);
  // Backs one more chunk, of at least `bytes`. False at the bound, or when the machine refuses. With `seen`, the
  // growths() at which nothing was found: returns true at once if it is out of date, because the memory that another
  // thread has backed since may be enough.
  bool grow(Bytes bytes, std::optional<std::uint64_t> seen = std::nullopt);
  // Chunks backed so far, including those returned.
  std::uint64_t growths() const { return growths_.load(std::memory_order_acquire); }
  // Returns chunks without any extent in use to the machine, until at least `bytes` were returned.
  void trim(Bytes bytes = Bytes(~std::uint64_t{0}));

  bool contains(const void* pointer) const;
  // All its addresses: [first, second). Empty if it has no capacity.
  std::pair<std::uint64_t, std::uint64_t> range() const {
    const auto base = reinterpret_cast<std::uint64_t>(base_);
    return {base, base + reserved_.value()};
  }
  // The distance of `pointer` from the start of the first chunk. REQUIRES: contains(pointer).
  Bytes offset_of(const void* pointer) const;
  // False once the driver refused to register a chunk; copies then run synchronously.
  bool pinned() const { return pinned_.load(std::memory_order_relaxed); }
  // Whether the machine refused memory at the last request.
  bool is_refused() const { return refused_.load(std::memory_order_relaxed); }
  Bytes backed() const;
  Status validate() const;

 private:
  // A piece of the reservation, in order of address. It keeps its addresses when its memory is returned; then it may be
  // merged with its neighbours, or split.
  struct Chunk {
    std::byte* start = nullptr;
    Bytes bytes;   // of addresses
    Bytes backed;  // zero, or what is readable and writable, whether free or in use
    bool registered = false;
  };

  bool back(Chunk& chunk, Bytes bytes) REQUIRES_LOCK(growth_);
  bool withdraw(const Chunk& chunk) REQUIRES_LOCK(growth_);
  void unback(Chunk& chunk) REQUIRES_LOCK(growth_);
  bool pin(Chunk& chunk, Bytes bytes) REQUIRES_LOCK(growth_);
  Chunk* unbacked_chunk(Bytes bytes) REQUIRES_LOCK(growth_);
  Chunk* split(Chunk* chunk, Bytes bytes) REQUIRES_LOCK(growth_);

  Driver& driver_;
  HostPages& pages_;
  Bytes capacity_;
  const Bytes chunk_;
  const Unregistered unregistered_;
  std::byte* base_ = nullptr;
  Bytes reserved_;
  std::byte* first_ = nullptr;  // start of the first chunk
  std::atomic<bool> pinned_{true};
  std::atomic<std::uint64_t> growths_{0};
  std::atomic<int> node_{-1};  // -1: any node
  mutable Mutex growth_{LockRank::kHostGrowth};
  std::vector<Chunk> chunks_ GUARDED_BY(growth_);
  Bytes limit_ GUARDED_BY(growth_);
  Bytes next_ GUARDED_BY(growth_);    // offset from base_ of the first address not in a chunk
  std::atomic<bool> refused_{false};  // at the last request to the machine; written under growth_
  mutable Mutex mutex_{LockRank::kTier};
  Bytes backed_ GUARDED_BY(mutex_);    // written under both locks
  ExtentMap free_ GUARDED_BY(mutex_);  // in units, by absolute address
};

}  // namespace tessera
