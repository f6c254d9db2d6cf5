// What could be won by moving live blocks together, which Tessera does not do: an address is for
// life.
//
// Blocks of drawn sizes live and die until the device is full of them, then most are freed at
// random, which is the worst order for slabs, and then as many come and go as before while the
// level stays low. What live blocks hold is set beside what they would hold if the slots of each
// class were moved into as few pages as possible.
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <vector>

#include "block_layers.hpp"

namespace tessera::bench {

struct CompactionRow {
  std::string blocks;  // the sizes
  std::string when;
  Occupation occupation;
  BlockLayers::Trimmed trimmed;  // what the engine gives back there, when it is told to
};

// Twice: sizes from 512 bytes to 64 MiB, and to 1 MiB. `operations` in each phase, `full` bytes
// live at most.
std::vector<CompactionRow> measure_compaction(int operations, Bytes full);

}  // namespace tessera::bench
