// Plays the steps of a trace several times.
//
// The steps begin at the first mark of an iteration, or at the first operation if no operation
// follows such a mark, and end with the last operation and the frees of what they allocated. What
// stands before and behind is played once. Each further time finds the blocks of the first: what the steps left
// allocated is freed, and what they freed of before is allocated again.
//
// Thread safety: stateless.
#pragma once

#include "replay/trace.hpp"

namespace tessera {

struct RepeatedTrace {
  Trace trace;
  std::size_t last_pass = 0;  // the event with which the steps are played for the last time
};

// REQUIRES: times > 0. Indices of blocks and operations change; `times` of 1 gives the same trace.
RepeatedTrace repeat_steps(Trace trace, std::uint32_t times);

}  // namespace tessera
