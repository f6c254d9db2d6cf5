// Lower bounds on the time of any plan that only moves bytes: for a whole trace, and for one pass of many.
//
// Each is the maximum of the compute time; for each link, the least bytes that must cross it divided by its speed,
// where memory lent by a peer counts as device memory for the host's link, and both links count as one for everything
// that is evicted (bounds.hpp explains how bytes are counted and when the counts are proven); and, with a single
// stream, the *turn*: at the moment of the highest memory use, such as the end of a forward pass, what has no room was
// copied out before and is copied in after, so these two times add up. A single pass may beat its bound thanks to
// earlier fetches; the average of all passes cannot.
//
// Thread safety: stateless.
#pragma once

#include "lab/replay/replay_options.hpp"
#include "lab/replay/trace.hpp"

namespace tessera {

// REQUIRES: `compute` is that of the trace, and the options have the device memory.
Nanoseconds lower_bound(const Trace& trace, const ReplayOptions& options, Nanoseconds compute);

// For one of the equal passes that `trace` ends with. REQUIRES: passes > 0; each has `pass_ops`.
Nanoseconds pass_lower_bound(const Trace& trace, const ReplayOptions& options, std::size_t pass_ops,
                             std::uint32_t passes);

}  // namespace tessera
