// Iterations of two kinds of programs, as an engine learns them, as input for planners. All runs are whole pages.
//
// Thread safety: stateless.
#pragma once

#include <cstdint>

#include "planning/iteration.hpp"

namespace tessera::bench {

// Decoding with Llama 3 1B (16 layers, 64 sequences): at each of `positions` every layer's weights and its key-value
// cache so far are read, and 32 MiB of cache are added per 256 positions. 18 launches per position.
Iteration decoder_iteration(std::uint32_t positions);

// Training with `layers` layers of twelve operations: each operation of the forward pass writes 64 MiB that the
// backward pass reads.
Iteration training_iteration(std::uint32_t layers);

// The most bytes allocated at a time.
Bytes live_peak(const Iteration& iteration);

// Launches, allocations and frees; a use of a small run counts an allocation and a free there.
std::size_t events_of(const Iteration& iteration);

}  // namespace tessera::bench
