// Repeats the steps of a trace several times.
//
// The steps begin at the first mark of an iteration, or at the first operation if no operation follows such a mark, and
// end with the last operation and the frees of what they allocated. Everything before and after runs once. Each
// repetition starts with the blocks that the first had: blocks that the steps left allocated are freed, and earlier
// blocks that they freed are allocated again.
//
// Thread safety: stateless.
#pragma once

#include "lab/replay/trace.hpp"

namespace tessera {

struct RepeatedTrace {
  Trace trace;
  std::size_t last_pass = 0;  // the event at which the steps begin for the last time
};

// REQUIRES: times > 0. Indices of blocks and operations change; with `times` of 1 the trace is unchanged.
RepeatedTrace repeat_steps(Trace trace, std::uint32_t times);

}  // namespace tessera
