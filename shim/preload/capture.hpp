// Streams that are being captured into a graph: their work does not run yet, so no block is fetched for it.
//
// The addresses in a graph are read when it is instantiated (graph_words.hpp), and its blocks are fetched when it is
// launched. This file only tracks active captures and makes sure that no fence is recorded on a capturing stream:
// before a stream joins a capture, a last fence is recorded for its earlier work.
//
// Thread safety: any thread.
#pragma once

#include "cuda_api.hpp"
#include "launch_facts.hpp"

namespace tessera::preload {

namespace detail {
bool is_captured(CUstream stream);
}  // namespace detail

// Costs one load until the program's first capture.
inline bool capturing(CUstream stream) {
  return detail::launch_facts.captures.load(std::memory_order_relaxed) && detail::is_captured(stream);
}

// True while any stream of the program is capturing.
bool any_capture();

// The program destroys a stream on which a capture may be active.
void capture_dropped(CUstream stream);

}  // namespace tessera::preload
