// No plan that only moves bytes is faster than this: for a whole trace, and for one pass of many.
//
// Each is the greatest of the compute time; for each link, the least bytes that must pass it over its
// speed, where what a peer lends counts as memory of the device for the host's link, and both links as one for all
// that leaves (bounds.hpp says how they are counted and when the counts are proven); and, of one stream, the
// *turn*: where memory is fullest, as at the end of a forward pass, what has no room went out before and
// comes in after, so these two times add up. A single pass may be faster than its bound by what was
// brought before it; the average of all passes cannot.
//
// Thread safety: stateless.
#pragma once

#include "replay/replay_options.hpp"
#include "replay/trace.hpp"

namespace tessera {

// REQUIRES: `compute` is that of the trace, and the options say how much memory a device has.
Nanoseconds lower_bound(const Trace& trace, const ReplayOptions& options, Nanoseconds compute);

// Of one of the equal passes that `trace` ends with. REQUIRES: passes > 0; each has `pass_ops`.
Nanoseconds pass_lower_bound(const Trace& trace, const ReplayOptions& options,
                             std::size_t pass_ops, std::uint32_t passes);

}  // namespace tessera
