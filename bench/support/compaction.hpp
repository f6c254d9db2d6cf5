// What could be gained by compacting live blocks, which Tessera does not do: a block's address never changes.
//
// Blocks of random sizes are allocated and freed until they fill the device. Then most are freed at random, which is
// the worst order for slabs. Then as many operations follow as before, while the level stays low. What live blocks hold
// is compared with what they would hold if the slots of each class were moved into as few pages as possible, and with
// what the same blocks hold under best fit (best_fit_contender.cpp), which does not move blocks either.
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <vector>

#include "block_layers.hpp"

namespace tessera::bench {

struct CompactionRow {
  std::string blocks;  // the range of sizes
  std::string when;
  Occupation occupation;
  BlockLayers::Trimmed trimmed;  // what the engine releases at that moment when it is trimmed
  Bytes best_fit;                // pages of 2 MiB with live bytes, of the same blocks under best fit
};

// Measures twice: sizes from 512 bytes to 64 MiB, and to 1 MiB. `operations` per phase, at most `full` live bytes.
std::vector<CompactionRow> measure_compaction(int operations, Bytes full);

}  // namespace tessera::bench
