// Extends an out-of-memory status by a message with the figures of all tiers, which add up (oom_report.hpp).
//
// Thread safety: every call may be made from any thread.
#pragma once

#include "api/device_heap.hpp"
#include "api/lower_tiers.hpp"
#include "api/oom_report.hpp"
#include "api/options.hpp"

namespace tessera {

class OomExplainer {
 public:
  // `simulated`: what this machine has left says nothing. REQUIRES: all of it outlives it.
  OomExplainer(const LowerTiers& lower, const Options& options, bool simulated)
      : lower_(lower), options_(options), simulated_(simulated) {}

  // Returns any other status unchanged. `too_large`: the cause reported if the request alone exceeds the device. A
  // caller that gets the status from here may log it, once.
  Status explain(Status status, DeviceHeap& heap, Bytes asked, OomFigures::Cause too_large) const;

 private:
  const LowerTiers& lower_;
  const Options& options_;
  const bool simulated_;
};

}  // namespace tessera
