// Drives the real allocator through a trace, as a program would, in virtual time.
//
// Each operation announces its blocks and is queued behind them on its stream; calls take no time
// of their own, so the program runs ahead of its device as far as memory, and a bound, let it. An
// operation starts when its stream is free and all its blocks are there. A block with a time to remake it
// has a callback, set anew by each write, that takes this time on the stream that needs it.
//
// Thread safety: stateless.
#pragma once

#include <vector>

#include "replay/bounds.hpp"
#include "replay/replay_options.hpp"
#include "replay/stream_stalls.hpp"
#include "replay/trace.hpp"
#include "tessera/tessera.h"

namespace tessera {

// The last time that the steps were played: what a long run comes to.
struct LastPass {
  Nanoseconds time, compute;
  Nanoseconds lower_bound;     // as in time_bounds.hpp
  std::size_t iterations = 0;  // marks of iterations in it
  std::size_t ops = 0;
  Bytes in, out, file_read, file_written, peer_in, peer_out;
  StreamStalls stalls;         // of the busiest stream
};

struct ReplayResult {
  ReplayOptions options;  // with device_memory as it was
  TraceBounds bounds;
  Nanoseconds lower_bound;
  Nanoseconds makespan;
  std::vector<Nanoseconds> iterations;  // from mark to mark, the last one to the end
  LastPass last_pass;
  tessera_stats stats{};
  std::size_t events = 0, ops = 0;
};

// Writes a timeline, if the options ask for one, when all has been played. Errors: kInvalidArgument for a trace without
// operations; kOutOfMemory when the trace does not fit, with the event; kIo for the timeline.
Result<ReplayResult> replay(const Trace& trace, ReplayOptions options);

}  // namespace tessera
