// For what a stream of the program waits while none of the program's work runs on it.
//
// The program is ahead of its device, so what its calls wait for costs nothing while earlier work runs. Each gap of a
// stream is split where the work behind it was queued. Until then the stream waits for the program, and so for
// whatever the program's calls waited for at that time; from then on, behind an event, for copies to the device.
//
// Thread safety: stateless.
#pragma once

#include <array>
#include <span>

#include "replay/host_waits.hpp"

namespace tessera {

// An operation, or work that remakes what one needs.
struct StreamWork {
  Nanoseconds queued, begin, end;
  bool remakes = false;
};

struct StreamStalls {
  std::array<Nanoseconds, kStallCauses> by_cause{};
  Nanoseconds remake;  // the stream remade what had been dropped
  Nanoseconds other;   // waits that no call of the engine tells
  Nanoseconds total() const;
};

// Between two moments. The parts are the whole: all the time in which no operation ran.
// REQUIRES: `work` and `waits` are in the order of time, and none overlaps the next; both may reach over the moments.
StreamStalls stalls_between(Nanoseconds begin, Nanoseconds end, std::span<const StreamWork> work,
                            std::span<const HostWait> waits);

}  // namespace tessera
