// What telling short lives from long ones could win where blocks are placed.
//
// One block in twenty lives twenty times as long, so that half of the live bytes are of each kind.
// The same blocks are placed twice: all with one tag, and with a tag for each kind of life. Tags
// are domains, which share neither slab nor window, so the second is what placement from both ends
// of the address space would come to with lives foretold without a mistake: the most that it could
// win.
//
// Thread safety: stateless.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "block_layers.hpp"

namespace tessera::bench {

struct LivesRow {
  std::string blocks;  // the sizes
  std::string when;    // short lives end, and in which moment this was
  std::string placed;  // the two kinds, together or apart
  Occupation mean;     // over samples; `moved` and `repacked` too
};

// `lives`: how many short lives it goes on for.
std::vector<LivesRow> measure_two_lives(int lives);

}  // namespace tessera::bench
