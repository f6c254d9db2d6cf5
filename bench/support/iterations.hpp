// Iterations of two kinds of programs, as an engine learns them, for what plans them. All runs are whole pages.
//
// Thread safety: stateless.
#pragma once

#include <cstdint>

#include "learn/iteration.hpp"

namespace tessera::bench {

// Llama 3 1B (16 layers, 64 sequences) answers: at each of `positions` every layer's weights and
// its cache of keys and values so far are read, and 32 MiB of cache are added for 256 positions. 18
// launches for each.
Iteration decoder_iteration(std::uint32_t positions);

// Training in `layers` layers of twelve operations: forwards each writes 64 MiB that are read on
// the way back.
Iteration training_iteration(std::uint32_t layers);

// Allocated at once at most.
Bytes live_peak(const Iteration& iteration);

// Launches, allocations and frees; a small run that is used has a block made and freed there.
std::size_t events_of(const Iteration& iteration);

}  // namespace tessera::bench
