// L2L: only one layer at a time is on the device, with all of its data, while the next one is being fetched.
//
// Pudipeddi et al., "Training Large Neural Networks with Constant Memory using a New Execution Algorithm",
// arXiv 2002.05645. The host holds the model; weights, states and the activations saved for the backward pass
// (its constant-memory variant) are evicted after each layer. Memory does not grow with depth.
//
// Not implemented: running all micro-batches through a layer before the next; that order is the program's.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class L2lPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "l2l"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
