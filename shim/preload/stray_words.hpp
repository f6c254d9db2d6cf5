// Words of a launch that lie in the heap but in no live block. Most are addresses of freed blocks. But the base of an
// array may lie before the block that contains a part of it: OpenMP gives kernels such a base for a mapped section
// (aomp#177), and arrays with first index 1 have such a base.
//
// The blocks that such a word may refer to are fetched as far as they fit, as uncertain words:
//  1. Blocks at base plus an index that the launch is given too, in elements of 4, 8, 2, 1 or 16 bytes: the first index
//     of the section is one of its parameters. An index that hits the first byte of a block counts before one that hits
//     its middle.
//  2. If there are none, a block that begins within kReach after it.
// Not detected: a base that lies in another live block, or outside the heap.
//
// Thread safety: any thread. Not for hot paths.
#pragma once

#include <cstdint>
#include <span>

#include "cuda_api.hpp"
#include "found_words.hpp"

namespace tessera::preload {

inline constexpr CUdeviceptr kReach = 64 << 10;

// The parameters of a launch; null where unknown.
struct GivenParameters {
  CUfunction function = nullptr;
  void** parameters = nullptr;
  void** extra = nullptr;
};

// The words without stray certain ones; what the strays may refer to comes first among the uncertain words.
Words without_strays(const WordSpans& words, const GivenParameters& given);

}  // namespace tessera::preload
