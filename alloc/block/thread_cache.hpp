// One thread's cached blocks: a small direct-mapped table of magazines, each one cache line.
//
// A magazine holds up to eight free blocks of one key. Its thread pushes with a store and pops with an
// exchange, so that a thread in need of memory can take the blocks of all others (steal()) without anyone
// waiting: the thread that exchanges the address out owns the block.
//
// Eight is one line of a slab's words (Slab::kLineSlots), which a thread takes as a whole. With fewer, one
// block of the line would go back as soon as all are free, another thread would take it, and from then on both
// would write to the line in every allocate/free pair. The fill count is stored with the key, in a line that
// each call reads anyway.
//
// Thread safety: steal() and counts() from any thread, everything else from the owning thread only.
//
// Invariants: addresses at and above a place's `filled` are zero in its magazine.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "block/cache_key.hpp"

namespace tessera {

// Written by one thread, read by any: a plain increment without tearing.
class OwnCounter {
 public:
  void add(std::int64_t n) { value_.store(get() + n, std::memory_order_relaxed); }
  void clear() { value_.store(0, std::memory_order_relaxed); }
  std::int64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

struct ThreadCounts {
  OwnCounter allocations, frees, hits;
  OwnCounter live_bytes;  // not yet added to the total of all threads
};

class ThreadCache {
 public:
  static constexpr std::size_t kMagazines = 64;
  static constexpr std::uint32_t kPerMagazine = 8;
  // A magazine holds at most this many bytes, unless it holds a single block.
  static constexpr Bytes kMagazineBytes = 32_MiB;

  // A cached block with exactly this key, or null.
  Address pop(const CacheKey& key) {
    const std::size_t index = index_of(key);
    Place& place = places_[index];
    if (place.key != key) return {};
    while (place.filled > 0) {
      const std::uint64_t address = magazines_[index].addresses[--place.filled].exchange(0, std::memory_order_acquire);
      if (address != 0) return Address(address);
    }
    return {};
  }
  // Returns false if the place is full or belongs to another key: see make_place().
  bool push(const CacheKey& key, Address address) {
    const std::size_t index = index_of(key);
    Place& place = places_[index];
    if (place.filled >= limit_of(key.size_class) || place.key != key) return false;
    magazines_[index].addresses[place.filled++].store(address.value(), std::memory_order_release);
    return true;
  }
  // Makes room for the key: calls `give(Address)` for each block that must leave.
  template <class Give>
  void make_place(const CacheKey& key, Give&& give) {
    const std::size_t index = index_of(key);
    Place& place = places_[index];
    const std::uint32_t keep = place.key == key ? limit_of(key.size_class) / 2 : 0;
    // From the top, so that the remaining blocks occupy the lower positions.
    while (place.filled > keep) take_out(magazines_[index].addresses[--place.filled], give);
    place.key = key;
  }
  // Takes all blocks out.
  template <class Give>
  void steal(Give&& give) {
    for (Magazine& magazine : magazines_) {
      for (auto& address : magazine.addresses) take_out(address, give);
    }
  }
  // Visits all blocks without taking them. REQUIRES: the owning thread is idle.
  template <class See>
  void for_each(See&& see) const {
    for (const Magazine& magazine : magazines_) {
      for (const auto& address : magazine.addresses) {
        if (const std::uint64_t value = address.load()) see(Address(value));
      }
    }
  }

  ThreadCounts& counts() { return counts_; }
  const ThreadCounts& counts() const { return counts_; }

  static constexpr std::uint32_t limit_of(SizeClass size_class) {
    if (size_class.is_slot()) return kPerMagazine;
    const std::uint64_t fit = kMagazineBytes / size_class.bytes();
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fit, 1, kPerMagazine));
  }

 private:
  struct alignas(64) Magazine {
    std::array<std::atomic<std::uint64_t>, kPerMagazine> addresses{};
  };
  static_assert(sizeof(Magazine) == 64);
  // Accessed by the owning thread only.
  struct alignas(32) Place {
    CacheKey key;
    std::uint32_t filled = 0;
  };
  static_assert(sizeof(Place) == 32, "none lies in two lines");

  static std::size_t index_of(const CacheKey& key) { return mixed(key) >> 58; }
  template <class Give>
  static void take_out(std::atomic<std::uint64_t>& place, Give&& give) {
    if (place.load(std::memory_order_relaxed) == 0) return;
    const std::uint64_t address = place.exchange(0, std::memory_order_acquire);
    if (address != 0) give(Address(address));
  }

  std::array<Magazine, kMagazines> magazines_;
  std::array<Place, kMagazines> places_{};
  ThreadCounts counts_;
};

static_assert(ThreadCache::kMagazines == 64, "index_of takes six bits");
static_assert(kSlotLimit * ThreadCache::kPerMagazine <= ThreadCache::kMagazineBytes);

}  // namespace tessera
