#include "replay/link_slices.hpp"

namespace tessera {

void LinkSlices::ran(DeviceId device, SimEngine engine, const SimWork& work, Nanoseconds begin, Nanoseconds end) {
  const bool in = engine == SimEngine::kInbound;
  if (!in && engine != SimEngine::kOutbound) return;
  const Bytes bytes(work.ranges.empty() ? 0 : work.ranges.front().bytes);
  slices_.push_back({static_cast<std::uint16_t>(device.value()), in ? "link in" : "link out", begin, end, work.name, bytes});
}

}  // namespace tessera
