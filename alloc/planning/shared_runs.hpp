// Chooses which blocks of an iteration share a run, to reduce the waste of whole pages.
//
// A shared run exists from its first block's allocation to its last block's free, and moves as a whole. It
// saves pages while all of its blocks are live and wastes them while only some are. The fullest moment matters
// most: a moment with 1 % of the peak less held counts e times less. The blocks live at the fullest moment are
// divided, per kind and in allocation order, into the runs with the least sum of pages times weighted lifetime
// (docs/decisions/0024).
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/page_class.hpp"
#include "base/units.hpp"

namespace tessera {

struct PagedBlock {
  Bytes bytes;
  std::uint64_t begin = 0, end = 0;  // steps; each step is one allocation or free. `end` is exclusive
  std::uint64_t kind = 0;            // only blocks of the same kind share a run
  bool may_share = false;            // false: it keeps pages of its own
};

struct SharedRuns {
  std::vector<std::vector<std::uint32_t>> runs;  // of at least two blocks each, as block numbers in allocation order
  Bytes alone;                                   // peak bytes with pages of its own for each block
  Bytes held;                                    // peak bytes with these runs
};

struct SharingLimits {
  Bytes run;               // maximum total size of the blocks of a run
  std::size_t blocks = 0;  // maximum number of blocks of a run
  Bytes alignment;         // of each block within the run
};

// `beside`: bytes held at all times. Returns no runs if they would save less than half a percent of the peak.
// REQUIRES: blocks in the order of their first steps, and begin < end.
SharedRuns share_runs(std::span<const PagedBlock> blocks, Bytes beside, const SharingLimits& limits);

}  // namespace tessera
