// Runs the real allocator through a trace, as a program would, in virtual time.
//
// Each operation announces its blocks and is queued behind them on its stream. Of the program only what the options
// charge takes time, so it runs ahead of its device as far as memory, and a bound, permit. An operation starts when its
// stream is free and all its blocks are present. A block with a recompute time has a callback, set again after each
// write, that takes this time on the stream that needs the block.
//
// Thread safety: stateless.
#pragma once

#include <vector>

#include "lab/replay/bounds.hpp"
#include "lab/replay/replay_options.hpp"
#include "lab/replay/stream_stalls.hpp"
#include "lab/replay/trace.hpp"
#include "tessera/tessera.h"

namespace tessera {

// The last repetition of the steps: the steady state of a long run.
struct LastPass {
  Nanoseconds time, compute;
  Nanoseconds lower_bound;     // see time_bounds.hpp
  std::size_t iterations = 0;  // iteration marks in it
  std::size_t ops = 0;
  Bytes in, out, file_read, file_written, peer_in, peer_out;
  StreamStalls stalls;  // of the busiest stream
};

struct ReplayResult {
  ReplayOptions options;  // with the device_memory in effect
  TraceBounds bounds;
  Nanoseconds lower_bound;
  Nanoseconds makespan;
  std::vector<Nanoseconds> iterations;  // from mark to mark, the last one to the end
  LastPass last_pass;
  tessera_stats stats{};
  std::size_t events = 0, ops = 0;
};

// Writes a timeline at the end, if the options request one. REQUIRES: the trace has operations. Errors: kOutOfMemory
// when the trace does not fit, with the event; kIo for the timeline.
Result<ReplayResult> replay(const Trace& trace, ReplayOptions options);

}  // namespace tessera
