// What a stream of the program waits for while none of the program's work runs on it.
//
// The program is ahead of its device, so its own waits cost nothing while earlier work runs. Each gap of a stream is
// split at the time the next work was queued. Before that the stream waits for the program, and so for whatever the
// program's calls waited for; after it, for an event behind copies to the device.
//
// Thread safety: stateless.
#pragma once

#include <array>
#include <span>

#include "lab/replay/host_waits.hpp"

namespace tessera {

// An operation, or recomputing work that an operation needs.
struct StreamWork {
  Nanoseconds queued, begin, end;
  bool recomputes = false;
};

struct StreamStalls {
  std::array<Nanoseconds, kStallCauses> by_cause{};
  Nanoseconds recompute;  // the stream recomputed dropped data
  Nanoseconds other;      // waits that no call of the engine reports
  Nanoseconds total() const;
};

// For the time between two moments. The parts add up to all the time in which no operation ran. REQUIRES: `work` and
// `waits` are in order of time without overlaps; both may extend beyond the moments.
StreamStalls stalls_between(Nanoseconds begin, Nanoseconds end, std::span<const StreamWork> work,
                            std::span<const HostWait> waits);

}  // namespace tessera
