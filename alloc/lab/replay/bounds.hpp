// Lower bounds for every plan, printed beside each replay.
//
// Liveness peak: the most bytes allocated at once; with this much memory nothing has to move.
// Largest step: the most bytes that one operation uses; with less memory it cannot run.
// Time: the compute time, and for each link the bytes that must cross it. Bytes that must come in are counted by
// evicting the bytes with the latest next use (Belady), in parts where that is best; for a fixed order of operations no
// other choice is better. Contents that are overwritten before they are read need not be fetched. Bytes that must go
// out are at least those that, at the worst moment, are still needed and have no room.
//
// Blocks that can be recomputed (recompute_ns) are excluded: they need not be moved.
//
// With several streams the bytes are counted in trace order, while a run may order streams differently; then only the
// compute time is a proven bound. Each device is counted separately, and the slowest counts.
//
// Thread safety: stateless.
#pragma once

#include <vector>

#include "base/link_speed.hpp"
#include "lab/replay/trace.hpp"

namespace tessera {

struct TraceBounds {
  Bytes liveness_peak;  // of the device with the highest peak
  Bytes largest_step;
  Nanoseconds compute;  // of the busiest stream
};
TraceBounds bounds_of(const Trace& trace);

// Bytes of one device that must be moved when its memory is `capacity`.
struct ForcedMoves {
  Bytes in, out;
};
ForcedMoves forced_moves(const Trace& trace, std::uint32_t device, Bytes capacity);

// The part of forced_moves().in that falls on the operations from `first_op` on. A run may fetch more of them earlier,
// so this bounds the average of many equal passes, not a single one.
Bytes forced_in_from(const Trace& trace, std::uint32_t device, Bytes capacity, std::size_t first_op);

// What a device has no room for at a moment. It is elsewhere then, so it was copied out before that moment and is
// copied in after it.
struct Excess {
  Bytes made;    // of data that the operations from `first_op` on wrote and will read again
  Bytes needed;  // of all data that they will read again before overwriting it
};
// After each operation from `first_op` on, in trace order.
std::vector<Excess> excess_from(const Trace& trace, std::uint32_t device, Bytes capacity, std::size_t first_op);

// Compute time of the busiest stream from operation `first_op` on.
Nanoseconds compute_from(const Trace& trace, std::size_t first_op);

}  // namespace tessera
