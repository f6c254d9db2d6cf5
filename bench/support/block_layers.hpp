// The block layer and all below it, on a simulated device without contents, open to be looked into:
// where live blocks lie, and what their pages hold beside them.
//
// Thread safety: none; one thread measures.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/virtual_clock.hpp"
#include "block/block_cache.hpp"
#include "driver/sim_driver.hpp"
#include "driver/trace_driver.hpp"
#include "tier/host_pages.hpp"

namespace tessera::bench {

struct LiveBlock {
  Address address;
  Bytes bytes;  // as asked for
};

// What live blocks occupy. Whole pages are counted: a page with one live block cannot go.
struct Occupation {
  Bytes used;      // as asked for
  Bytes held;      // pages with live blocks
  Bytes in_slabs;  // of these, pages of slots
  Bytes repacked;  // as `held`, if the slots of each class lay in as few pages as hold them
  Bytes moved;     // what must be copied for that, least first
  std::uint64_t windows = 0;     // of 32 MiB with base pages of live blocks
  std::uint64_t base_pages = 0;  // in them

  // The part of `held` that would be free.
  double won() const {
    return static_cast<double>((held - repacked).value()) / static_cast<double>(held.value());
  }
};

class BlockLayers {
 public:
  // There is room for everything: `device` bytes, nothing below.
  explicit BlockLayers(Bytes device);
  ~BlockLayers();

  Address allocate(Bytes bytes, TagId tag);
  void free(Address address);
  Occupation occupation(std::span<const LiveBlock> live) const;

  // What giving back does that no live block needs.
  struct Trimmed {
    Bytes cached;              // pages of free blocks,
    Bytes spare;               // and frames that nobody had
    std::uint64_t unmaps = 0;  // calls
  };
  // REQUIRES: `live` are all blocks there are.
  Trimmed trim(std::span<const LiveBlock> live);

 private:
  VirtualClock clock_;
  NoHostPages host_pages_;
  SimDriver sim_;
  TraceDriver driver_;
  EventLog log_;
  DeviceTier device_;
  HostTier host_;
  FileTier file_;
  std::unique_ptr<Residency> residency_;
  std::unique_ptr<PageManager> pages_;
  std::unique_ptr<BlockCache> blocks_;
  StreamId stream_;
};

}  // namespace tessera::bench
