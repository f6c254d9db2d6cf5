// The program's host memory: blocks of pinned memory that Tessera serves, and amounts that the driver serves beside the
// heap.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.hpp"
#include "tessera/interpose.h"
#include "tier/pinned_blocks.hpp"

namespace tessera {

class HostMemory {
 public:
  // Reserves addresses with the first block. REQUIRES: all references outlive the object.
  HostMemory(Driver& driver, HostTier& host, Bytes limit, HostPages& pages = shared_host_pages())
      : driver_(driver), host_(host), pages_(pages), limit_(limit) {}

  // As PinnedBlocks. Errors: also kNotSupported where the limit is 0.
  Result<void*> allocate(Bytes bytes, std::uint32_t mark);
  Status free(const void* start);
  std::optional<PinnedBlocks::Block> find(const void* address) const;
  // [first, second), which never changes once a block was allocated; empty before.
  std::pair<std::uint64_t, std::uint64_t> range() const;
  void trim();
  // The context in which blocks were pinned is about to end: all blocks end. REQUIRES: no work uses one; no call on
  // blocks is being made.
  void end();

  // What the driver serves of this kind now.
  void note_beside(tessera_beside kind, Bytes bytes);
  void add_to(tessera_stats& stats) const;
  Status validate() const;

 private:
  PinnedBlocks* made() const { return made_.load(std::memory_order_acquire); }

  Driver& driver_;
  HostTier& host_;
  HostPages& pages_;
  const Bytes limit_;
  mutable Mutex making_{LockRank::kHostBlocks};
  std::unique_ptr<PinnedBlocks> blocks_ GUARDED_BY(making_);
  std::atomic<PinnedBlocks*> made_{nullptr};
  std::array<std::atomic<std::uint64_t>, TESSERA_BESIDE_KINDS> beside_{};
};

}  // namespace tessera
