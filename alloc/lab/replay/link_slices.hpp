// What each direction of each device's links, to the host and to other devices, carried when: for the timeline of a
// replay.
//
// Thread safety: single-threaded, as the whole replay.
#pragma once

#include <vector>

#include "observe/timeline.hpp"
#include "sim/sim_watcher.hpp"

namespace tessera {

class LinkSlices final : public SimWatcher {
 public:
  void ran(DeviceId device, SimEngine engine, const SimWork& work, Nanoseconds begin, Nanoseconds end) override;

  const std::vector<TrackSlice>& slices() const { return slices_; }

 private:
  std::vector<TrackSlice> slices_;  // one per copy
};

}  // namespace tessera
