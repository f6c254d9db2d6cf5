// L2L: one layer at a time is on the device, whatever there is of it, and the next one on its way.
//
// Pudipeddi et al., "Training Large Neural Networks with Constant Memory using a New Execution Algorithm",
// arXiv 2002.05645 (papers.md §4.3). The host holds the model; weights, states and what is saved for the
// way back (its constant-memory variant) leave behind each layer. Memory does not grow with depth.
//
// Not here: running all micro-batches through a layer before the next, which is the program's order.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class L2lPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "l2l"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
