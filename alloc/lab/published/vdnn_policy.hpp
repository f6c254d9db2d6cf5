// vDNN: feature maps are evicted after the last forward layer that reads them, and one is fetched per backward
// layer.
//
// Rhu et al., "vDNN: Virtualized Deep Neural Networks for Scalable, Memory-Efficient Neural Network Design",
// MICRO 2016. All: every feature map that waits for the backward pass. Conv: those read by convolutions,
// recognised here by an adjacent weight. Each is fetched while the layer runs that needs the previous one. Dyn:
// the first of none, conv, all with a peak that fits.
//
// Not implemented: joining both streams at a layer's end (the engine waits only where it lacks room), and the
// choice of slower convolutions with less workspace, which is not up to an allocator.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class VdnnAllPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "vdnn-all"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
};

class VdnnConvPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "vdnn-conv"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
};

class VdnnDynPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "vdnn-dyn"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
