#include "lab/replay/link_slices.hpp"

namespace tessera {
namespace {

// Null for engines that use no link.
const char* track_of(SimEngine engine) {
  switch (engine) {
    case SimEngine::kInbound: return "link in";
    case SimEngine::kOutbound: return "link out";
    case SimEngine::kPeerIn: return "peer in";
    case SimEngine::kPeerOut: return "peer out";
    case SimEngine::kCompute:
    case SimEngine::kHost:
    case SimEngine::kMarker: break;
  }
  return nullptr;
}

}  // namespace

void LinkSlices::ran(DeviceId device, SimEngine engine, const SimWork& work, Nanoseconds begin, Nanoseconds end) {
  const char* const track = track_of(engine);
  if (track == nullptr) return;
  const Bytes bytes(work.ranges.empty() ? 0 : work.ranges.front().bytes);
  slices_.push_back({static_cast<std::uint16_t>(device.value()), track, begin, end, work.name, bytes});
}

}  // namespace tessera
