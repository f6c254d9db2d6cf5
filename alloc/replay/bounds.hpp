// What no plan can go below: the bounds that are printed beside every replay.
//
// Liveness peak: the most bytes that are allocated at once; with so much nothing has to move.
// Largest step: the most bytes that one operation uses; with less nothing can run.
// Time: the compute time, and for each link the bytes that must pass it. Bytes that must come in
// are counted by evicting, in parts where that is best, what is used again last (Belady), which no
// other choice beats for one order of operations; contents that are overwritten before they are
// read need not come back. Bytes that must go out are at least those which, at the worst moment,
// are still needed and have no room.
//
// Blocks that can be remade (regen_ns) are left out: they need not be moved.
//
// With several streams the bytes are counted in the order of the trace, while a run may order
// streams otherwise; then only the compute time is a proven bound. Several devices are counted each
// by itself, and the slowest counts.
//
// Thread safety: stateless.
#pragma once

#include <vector>

#include "base/link_speed.hpp"
#include "replay/trace.hpp"

namespace tessera {

struct TraceBounds {
  Bytes liveness_peak;  // of the device with the most
  Bytes largest_step;
  Nanoseconds compute;  // of the busiest stream
};
TraceBounds bounds_of(const Trace& trace);

// Bytes of one device that must be moved when it holds so much.
struct ForcedMoves {
  Bytes in, out;
};
ForcedMoves forced_moves(const Trace& trace, std::uint32_t device, Bytes capacity);

// Bytes that must come in while the operations from `first_op` on run: the part of `forced_moves`
// in which they stand. A run may bring more of them before, so this bounds the average of many
// equal passes, not a single one.
Bytes forced_in_from(const Trace& trace, std::uint32_t device, Bytes capacity, std::size_t first_op);

// What one device has no room for at a moment: then it is elsewhere, so its way out lies before that
// moment and its way in after it.
struct Excess {
  Bytes made;    // of what the operations from `first_op` on have written and will read again
  Bytes needed;  // of all that they will read again, as they find it
};
// After each operation from `first_op` on, in the order of the trace.
std::vector<Excess> excess_from(const Trace& trace, std::uint32_t device, Bytes capacity,
                                std::size_t first_op);

// Compute time of the busiest stream from the operation `first_op` on.
Nanoseconds compute_from(const Trace& trace, std::size_t first_op);

}  // namespace tessera
