// Bytes that the links of all devices have carried so far, in virtual time.
//
// Why not the allocator's totals: it counts a move when it notices the end, which may be much later.
//
// Thread safety: single-threaded, as the whole replay.
#pragma once

#include "base/units.hpp"
#include "sim/sim_watcher.hpp"

namespace tessera {

class LinkBytes final : public SimWatcher {
 public:
  struct Sums {
    Bytes in, out, peer_in, peer_out;
  };

  // `next`, if not null, receives everything too. REQUIRES: it outlives this.
  void pass_on_to(SimWatcher* next) { next_ = next; }
  void ran(DeviceId device, SimEngine engine, const SimWork& work, Nanoseconds begin, Nanoseconds end) override;
  // A copy counts from its end on.
  const Sums& sums() const { return sums_; }

 private:
  Sums sums_;
  SimWatcher* next_ = nullptr;
};

}  // namespace tessera
