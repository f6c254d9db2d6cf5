// What could be gained by placing short-lived blocks apart from long-lived ones.
//
// One block in twenty lives twenty times as long, so that half of the live bytes are of each kind. The same blocks are
// placed twice: all with one tag, and with one tag per kind of lifetime. Tags are domains, which share neither slabs
// nor windows. The second placement is therefore equivalent to placing from both ends of the address space with
// perfectly predicted lifetimes: the upper limit of the gain.
//
// Thread safety: stateless.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "block_layers.hpp"

namespace tessera::bench {

struct LivesRow {
  std::string blocks;  // the range of sizes
  std::string when;    // how short lifetimes end, and the moment of the samples
  std::string placed;  // the two kinds, together or apart
  Occupation mean;     // over samples, including `moved` and `repacked`
};

// `lives`: the duration in short lifetimes.
std::vector<LivesRow> measure_two_lives(int lives);

}  // namespace tessera::bench
