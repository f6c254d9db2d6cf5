#include "lab/replay/link_bytes.hpp"

namespace tessera {

void LinkBytes::ran(DeviceId device, SimEngine engine, const SimWork& work, Nanoseconds begin, Nanoseconds end) {
  if (next_ != nullptr) next_->ran(device, engine, work, begin, end);
  const Bytes bytes(work.ranges.empty() ? 0 : work.ranges.front().bytes);
  switch (engine) {
    case SimEngine::kInbound: sums_.in += bytes; break;
    case SimEngine::kOutbound: sums_.out += bytes; break;
    case SimEngine::kPeerIn: sums_.peer_in += bytes; break;
    case SimEngine::kPeerOut: sums_.peer_out += bytes; break;
    case SimEngine::kCompute:
    case SimEngine::kHost:
    case SimEngine::kMarker: break;
  }
}

}  // namespace tessera
