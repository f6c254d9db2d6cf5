#include "replay/time_bounds.hpp"

#include <algorithm>

#include "base/link_speed.hpp"
#include "replay/bounds.hpp"

namespace tessera {
namespace {

Nanoseconds later(Nanoseconds bound, Bytes bytes, std::uint64_t speed) {
  return std::max(bound, LinkSpeed{speed, {}}.time_for(bytes));
}

// What has no room at the end of an operation was copied out before and comes in after, so the two
// times add up, at the operation where they are most. In the order of the trace, so of one stream.
Nanoseconds turn_bound(const Trace& trace, const ReplayOptions& options, std::uint32_t device,
                       std::size_t first_op) {
  if (trace.streams.size() != 1) return {};
  const auto on_device = excess_from(trace, device, options.device_memory, first_op);
  const auto on_either =
      excess_from(trace, device, options.device_memory + options.host_memory, first_op);
  Nanoseconds before, after = compute_from(trace, first_op), most;
  for (std::size_t i = 0; i < on_device.size(); ++i) {
    const Nanoseconds step = trace.ops[first_op + i].time;
    before += step;
    after -= step;
    const Nanoseconds out = later(later(before, on_device[i].made, options.d2h), on_either[i].made,
                                  options.file_write);
    const Nanoseconds in = later(later(after, on_device[i].needed, options.h2d),
                                 on_either[i].needed, options.file_read);
    most = std::max(most, out + in);
  }
  return most;
}

}  // namespace

Nanoseconds lower_bound(const Trace& trace, const ReplayOptions& options, Nanoseconds compute) {
  Nanoseconds bound = compute;
  for (std::uint32_t device = 0; device < trace.devices(); ++device) {
    const ForcedMoves link = forced_moves(trace, device, options.device_memory);
    bound = later(bound, link.in, options.h2d);
    bound = later(bound, link.out, options.d2h);
    if (!link.in && !link.out) continue;
    bound = std::max(bound, turn_bound(trace, options, device, 0));
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
    bound = std::max(bound, turn_bound(trace, options, device, trace.ops.size() - pass_ops));
    const Bytes read =
        forced_in_from(trace, device, options.device_memory + options.host_memory, first);
    bound = later(bound, read / passes, options.file_read);
  }
  return bound;
}

}  // namespace tessera
