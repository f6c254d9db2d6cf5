// Words of a launch that lie in the heap and in no live block: most are addresses of blocks that were freed. But the
// base of an array may lie before the block that has a part of it: OpenMP gives kernels such a base for a mapped
// section (aomp#177), and arrays that begin at 1 have one.
//
// What such a word may mean is looked for, and comes as far as it fits, as words that may be no addresses:
//  1. blocks that it reaches with a number that the launch is given as well, in elements of 4, 8, 2, 1 or 16 bytes: the
//     first index of the section is one. Where it reaches the first byte of a block, before where it reaches into one.
//  2. if there are none, a block that begins within kReach behind it.
// Not seen: a base that lies in another live block, or outside the heap.
//
// Thread safety: any thread. Not for hot paths.
#pragma once

#include <cstdint>
#include <span>

#include "cuda_api.hpp"
#include "found_words.hpp"

namespace tessera::preload {

inline constexpr CUdeviceptr kReach = 64 << 10;

// What a launch was given; null where nothing tells.
struct GivenParameters {
  CUfunction function = nullptr;
  void** parameters = nullptr;
  void** extra = nullptr;
};

// The words without those of the certain ones that are strays, and what these may mean ahead of what else may be
// needed.
Words without_strays(const WordSpans& words, const GivenParameters& given);

}  // namespace tessera::preload
