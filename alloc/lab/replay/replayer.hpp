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
#include "lab/replay/shared_machine.hpp"
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
  std::uint64_t turns = 0;  // on a shared device: time slices that it had,
  Nanoseconds waited;       // and how long its calls waited for them
};

// The memory of each device: the option's, or else that of the trace. REQUIRES: as VirtualMachine::create.
Bytes device_memory_for(const Trace& trace, const ReplayOptions& options);

// Writes a timeline at the end, if the options request one. `place`: on a machine that other programs use too; the
// options say what of it a program may have. REQUIRES: the trace has operations; as VirtualMachine::create. Errors:
// kOutOfMemory when the trace does not fit, with the event; kIo for the timeline.
Result<ReplayResult> replay(const Trace& trace, ReplayOptions options, const SharedPlace* place = nullptr);

}  // namespace tessera
