// vDNN: feature maps leave behind the last layer forward that reads them, one comes back per layer.
//
// Rhu et al., "vDNN: Virtualized Deep Neural Networks for Scalable, Memory-Efficient Neural Network
// Design", MICRO 2016 (papers.md §3.1). All: every feature map that waits for the way back. Conv: those
// that convolutions read, known here by the weight beside them. Each is fetched while the layer runs
// that needs the one before it. Dyn: the first of none, conv, all whose peak fits.
//
// Not here: joining both streams at a layer's end (the engine waits only where it lacks the room), and
// the choice of slower convolutions with less workspace, which is not an allocator's.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class VdnnAllPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "vdnn-all"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
};

class VdnnConvPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "vdnn-conv"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
};

class VdnnDynPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "vdnn-dyn"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
