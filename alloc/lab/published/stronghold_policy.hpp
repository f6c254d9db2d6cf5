// STRONGHOLD: a window of layers stays on the device; the next is fetched while the window computes.
//
// Sun et al., "STRONGHOLD: Fast and Affordable Billion-Scale Deep Learning Model Training", SC 2022. The window
// is the smallest number of layers with enough computing to cover the fetch of the next layer's weights, as far
// as they fit beside it. Weights are evicted behind the window; optimizer states and gradients are offloaded
// until the update.
//
// Not implemented: the update on the processor (the program's own is used), and its round-robin buffers.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class StrongholdPolicy final : public PlannedPolicy {
 public:
  // Negative: the smallest window that covers the fetches. 0: each layer is fetched on demand.
  explicit StrongholdPolicy(double window = -1) : window_(window) {}
  std::string_view name() const override { return "stronghold"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;

 private:
  double window_;
};

}  // namespace tessera
