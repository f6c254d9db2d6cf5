// Streams that are being captured into a graph: their work does not run, so nothing is moved for it.
//
// What a graph holds is read when it is instantiated (graph_words.hpp) and brought in when it is
// launched. Here is only kept which captures are under way, and that no fence is ever recorded on a
// stream of one: before a stream becomes part of a capture, its earlier work gets a last fence.
//
// Thread safety: any thread.
#pragma once

#include "cuda_api.hpp"

namespace tessera::preload {

// Costs one load until a program captures for the first time.
bool capturing(CUstream stream);

// True while the program captures on any stream.
bool any_capture();

// The program destroys a stream on which it may have begun a capture.
void capture_dropped(CUstream stream);

}  // namespace tessera::preload
