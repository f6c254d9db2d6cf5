#include "replay/time_bounds.hpp"

#include <algorithm>

#include "base/link_speed.hpp"
#include "replay/bounds.hpp"

namespace tessera {
namespace {

Nanoseconds later(Nanoseconds bound, Bytes bytes, std::uint64_t speed) {
  return std::max(bound, LinkSpeed{speed, {}}.time_for(bytes));
}

}  // namespace

Nanoseconds lower_bound(const Trace& trace, const ReplayOptions& options, Nanoseconds compute) {
  Nanoseconds bound = compute;
  for (std::uint32_t device = 0; device < trace.devices(); ++device) {
    const ForcedMoves link = forced_moves(trace, device, options.device_memory);
    bound = later(bound, link.in, options.h2d);
    bound = later(bound, link.out, options.d2h);
    if (!link.in && !link.out) continue;
    const ForcedMoves disk =
        forced_moves(trace, device, options.device_memory + options.host_memory);
    bound = later(bound, disk.in, options.file_read);
    bound = later(bound, disk.out, options.file_write);
  }
  return bound;
}

Nanoseconds pass_lower_bound(const Trace& trace, const ReplayOptions& options,
                             std::size_t pass_ops, std::uint32_t passes) {
  const std::size_t first = trace.ops.size() - pass_ops * passes;
  Nanoseconds bound = compute_from(trace, trace.ops.size() - pass_ops);
  for (std::uint32_t device = 0; device < trace.devices(); ++device) {
    const Bytes in = forced_in_from(trace, device, options.device_memory, first);
    bound = later(bound, in / passes, options.h2d);
    if (!in) continue;
    const Bytes read =
        forced_in_from(trace, device, options.device_memory + options.host_memory, first);
    bound = later(bound, read / passes, options.file_read);
  }
  return bound;
}

}  // namespace tessera
