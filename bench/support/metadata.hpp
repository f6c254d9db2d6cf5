// The host memory that our bookkeeping takes for a million blocks: records of blocks, runs and pages, the page map, and
// the nodes of the tables that hold them.
//
// It is computed from the sizes of the records, not measured in the process: the simulated device's own bookkeeping is
// in the same heap, and is far larger.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace tessera::bench {

struct Metadata {
  Bytes block_bytes;  // requested size of each
  std::uint64_t blocks = 0;
  Bytes managed;  // pages of all runs
  Bytes block_records, runs, page_map;
  Bytes sum() const { return block_records + runs + page_map; }
  double part() const { return static_cast<double>(sum().value()) / static_cast<double>(managed.value()); }
};

Metadata metadata_of(Bytes block_bytes, std::uint64_t blocks);

}  // namespace tessera::bench
