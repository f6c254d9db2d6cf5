// The block layer and all layers below it, on a simulated device without contents, with access to their internals:
// where live blocks are, and what else their pages hold.
//
// Thread safety: none; one thread measures.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"
#include "sim/trace_driver.hpp"

namespace tessera::bench {

struct LiveBlock {
  Address address;
  Bytes bytes;  // requested size
};

// What live blocks occupy. Whole pages are counted: a page with one live block cannot be evicted.
struct Occupation {
  Bytes used;                    // requested sizes
  Bytes held;                    // pages with live blocks
  Bytes in_slabs;                // slab pages among them
  Bytes repacked;                // as `held`, if the slots of each class were packed into as few pages as possible
  Bytes moved;                   // bytes to copy for that, the emptiest slabs first
  std::uint64_t windows = 0;     // of 32 MiB with base pages of live blocks
  std::uint64_t base_pages = 0;  // in these windows

  // The fraction of `held` that would be free. Below zero where several classes share pages: of one class each, there
  // would be more.
  double won() const { return 1 - static_cast<double>(repacked.value()) / static_cast<double>(held.value()); }
};

class BlockLayers {
 public:
  // There is room for everything: `device` bytes, no lower tier.
  explicit BlockLayers(Bytes device);
  ~BlockLayers();

  Address allocate(Bytes bytes, TagId tag);
  void free(Address address);
  Occupation occupation(std::span<const LiveBlock> live) const;

  // What a trim releases that no live block needs.
  struct Trimmed {
    Bytes cached;              // pages of free blocks
    Bytes spare;               // and unused frames
    std::uint64_t unmaps = 0;  // calls
  };
  // REQUIRES: `live` contains all live blocks.
  Trimmed trim(std::span<const LiveBlock> live);

 private:
  VirtualClock clock_;
  NoHostPages host_pages_;
  SimDriver sim_;
  TraceDriver driver_;
  SimLayers layers_;
  StreamId stream_;
};

}  // namespace tessera::bench
