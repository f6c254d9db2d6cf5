// Pinned host memory for the program's own use, in blocks of exactly the size that is requested.
//
// Why: a driver pins and unpins at each call, which takes 0.1 s per GB and blocks its other calls, so frameworks cache
// such memory themselves, round it up to powers of two, and never return it. Here a freed block is cached, a block
// takes what was requested (whole pages from 16 KiB on), and all unused memory is returned when it is needed elsewhere.
//
// Blocks lie in an arena of their own (host_arena.hpp), because a child of fork must share them with its parent, while
// it must not copy the pages of the host tier. Its chunks are lent by the host tier, so that both together stay within
// one budget. A chunk that the driver does not pin is not used: every block can be accessed by every device.
//
// Chunks are pinned by the calling thread, in its current context, as a driver does it.
//
// Thread safety: every call may be made from any thread.
//
// Invariants (validate())
//  1. Blocks do not overlap, and lie in the arena.
//  2. Live and cached bytes together are at most what is backed, and that is what the host tier has lent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "tier/host_arena.hpp"
#include "tier/host_tier.hpp"

namespace tessera {

class PinnedBlocks {
 public:
  struct Block {
    std::uint64_t start = 0;
    Bytes bytes;             // as requested
    std::uint64_t id = 0;    // never used twice
    std::uint32_t mark = 0;  // the caller's own
  };

  struct Usage {
    std::uint64_t blocks = 0, allocations = 0;
    Bytes live;  // as requested
    Bytes peak_live;
    Bytes cached;  // in freed blocks that are kept for the next request of their size
    Bytes backed;  // pinned, for live and cached blocks or unused
  };

  // `limit` bounds what is pinned. REQUIRES: the others outlive the object; the host tier lends to no other.
  PinnedBlocks(Driver& driver, HostTier& host, Bytes limit, HostPages& pages = shared_host_pages());
  // Live blocks end with it.
  ~PinnedBlocks();
  PinnedBlocks(const PinnedBlocks&) = delete;
  PinnedBlocks& operator=(const PinnedBlocks&) = delete;

  // Aligned to 4096, or to 512 if `bytes` is less; contents undefined. Errors: kOutOfMemory if the limit, the budget or
  // the machine does not allow it, or the driver does not pin it.
  Result<void*> allocate(Bytes bytes, std::uint32_t mark);
  // REQUIRES: no queued work uses the block. Errors: kNotFound unless a live block starts at `start`.
  Status free(const void* start);
  // The live block that contains `address`.
  std::optional<Block> find(const void* address) const;
  // Returns cached blocks, and all chunks without a live block, to the machine.
  void trim();

  // All addresses that blocks ever have: [first, second). Cheap.
  std::pair<std::uint64_t, std::uint64_t> range() const { return arena_.range(); }
  Usage usage() const;
  Status validate() const;

 private:
  struct Record {
    Block block;
    Bytes whole;  // that it takes
    bool live = false;
  };
  using Records = std::map<std::uint64_t, Record>;

  void* reuse(Bytes bytes, Bytes whole, std::uint32_t mark);
  void* take(Bytes whole);
  void give(void* start, Bytes whole);
  bool grow(Bytes bytes, std::uint64_t seen);
  void begin(Record& record, Bytes bytes, std::uint32_t mark) REQUIRES_LOCK(mutex_);
  bool drop_cached();

  HostTier& host_;
  const Bytes limit_;
  const Bytes chunk_;
  Mutex growing_{LockRank::kHostGrower};  // for chunks
  HostArena arena_;
  mutable Mutex mutex_{LockRank::kTier};  // a leaf, as no arena is called meanwhile
  Records records_ GUARDED_BY(mutex_);    // of live and cached blocks, by start
  std::map<Bytes, std::vector<Records::iterator>> cached_ GUARDED_BY(mutex_);  // by size
  Usage usage_ GUARDED_BY(mutex_);                                             // but for `backed`
  std::uint64_t last_id_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera
