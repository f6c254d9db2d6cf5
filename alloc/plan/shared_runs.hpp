// Which blocks of an iteration share a run, so that less is lost to whole pages.
//
// A run is there from the first of its blocks to the last and moves as a whole. Pages are saved where all of them live,
// and lost where one does not yet or not any more. What counts is the fullest moment: a moment at which a hundredth
// of the peak less is held counts e times less. Of the blocks that live then, those of one kind are cut, in the order in which
// they are made, into runs for which pages times moments, weighed so, are least (decision 24).
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
  std::uint64_t begin = 0, end = 0;  // steps, at each of which one block is made or ends; it is not there at `end`
  std::uint64_t kind = 0;            // only blocks of one share a run
  bool may_share = false;  // else it keeps pages of its own
};

struct SharedRuns {
  std::vector<std::vector<std::uint32_t>> runs;  // of two blocks and more, by number and as they are made
  Bytes alone;  // at most, where each block has pages of its own
  Bytes held;   // with these runs
};

struct SharingLimits {
  Bytes run;                // of the blocks that share one, at most, ...
  std::size_t blocks = 0;   // ... and so many of them
  Bytes alignment;          // of each block in it
};

// `beside`: what is held at all times. No run where that would save less than half a percent of what is held at most.
// REQUIRES: blocks in the order of their first steps, and begin < end.
SharedRuns share_runs(std::span<const PagedBlock> blocks, Bytes beside, const SharingLimits& limits);

}  // namespace tessera
