#include "lab/replay/time_bounds.hpp"

#include <algorithm>

#include "base/link_speed.hpp"
#include "lab/replay/bounds.hpp"

namespace tessera {
namespace {

Nanoseconds later(Nanoseconds bound, Bytes bytes, std::uint64_t speed) {
  return std::max(bound, LinkSpeed{speed, {}}.time_for(bytes));
}

// What has no room at the end of an operation was copied out before and is copied in after, so the two times add up;
// takes the operation with the largest sum. In trace order, so only for a single stream.
Nanoseconds turn_bound(const Trace& trace, const ReplayOptions& options, std::uint32_t device, std::size_t first_op) {
  if (trace.streams.size() != 1) return {};
  const auto beyond = [&](Bytes memory) { return excess_from(trace, device, memory, first_op); };
  const auto on_device = beyond(options.device_memory),
             on_peer = options.peer_memory ? beyond(options.device_memory + options.peer_memory) : on_device,
             on_any = beyond(options.device_memory + options.beside());
  Nanoseconds before, after = compute_from(trace, first_op), most;
  for (std::size_t i = 0; i < on_device.size(); ++i) {
    const Nanoseconds step = trace.ops[first_op + i].time;
    before += step;
    after -= step;
    Nanoseconds out = later(before, on_device[i].made, options.out_rate());
    out = later(later(out, on_peer[i].made, options.d2h), on_any[i].made, options.file_write);
    Nanoseconds in = later(after, on_device[i].needed, options.in_rate());
    in = later(later(in, on_peer[i].needed, options.h2d), on_any[i].needed, options.file_read);
    most = std::max(most, out + in);
  }
  return most;
}

}  // namespace

Nanoseconds lower_bound(const Trace& trace, const ReplayOptions& options, Nanoseconds compute) {
  Nanoseconds bound = compute;
  for (std::uint32_t device = 0; device < trace.devices(); ++device) {
    const ForcedMoves link = forced_moves(trace, device, options.device_memory);
    bound = later(bound, link.in, options.in_rate());
    bound = later(bound, link.out, options.out_rate());
    if (!link.in && !link.out) continue;
    bound = std::max(bound, turn_bound(trace, options, device, 0));
    if (options.peer_memory) {
      const ForcedMoves host = forced_moves(trace, device, options.device_memory + options.peer_memory);
      bound = later(later(bound, host.in, options.h2d), host.out, options.d2h);
    }
    const ForcedMoves disk = forced_moves(trace, device, options.device_memory + options.beside());
    bound = later(bound, disk.in, options.file_read);
    bound = later(bound, disk.out, options.file_write);
  }
  return bound;
}

Nanoseconds pass_lower_bound(const Trace& trace, const ReplayOptions& options, std::size_t pass_ops,
                             std::uint32_t passes) {
  const std::size_t first = trace.ops.size() - pass_ops * passes;
  Nanoseconds bound = compute_from(trace, trace.ops.size() - pass_ops);
  for (std::uint32_t device = 0; device < trace.devices(); ++device) {
    const Bytes in = forced_in_from(trace, device, options.device_memory, first);
    bound = later(bound, in / passes, options.in_rate());
    if (!in) continue;
    bound = std::max(bound, turn_bound(trace, options, device, trace.ops.size() - pass_ops));
    if (options.peer_memory) {
      const Bytes from_host = forced_in_from(trace, device, options.device_memory + options.peer_memory, first);
      bound = later(bound, from_host / passes, options.h2d);
    }
    const Bytes read = forced_in_from(trace, device, options.device_memory + options.beside(), first);
    bound = later(bound, read / passes, options.file_read);
  }
  return bound;
}

}  // namespace tessera
