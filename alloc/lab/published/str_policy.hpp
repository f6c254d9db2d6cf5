// STR: the exact optimum of keeping, copying and recomputing, for iterations with few gaps.
//
// Zong et al., "STR: Hybrid Tensor Re-Generation to Break Memory Wall for DNN Training", TPDS 2023. Copying and
// recomputing form one problem; a copy on the host stays valid, so evicting a second time moves 0 bytes. Every
// choice for every gap is tried and judged by the forecast: stay, fetch at any step of the gap, fetch on demand,
// recompute. So it is the reference for heuristics that choose among these. Runs leave whole, right after their use;
// fetches that begin at the same step go in the order of need.
//
// Beyond kMost combinations of these, a fetch begins on demand or one copy time early, and the result is no longer
// exact; beyond kMostRestricted of those it plans like Capuchin. Not implemented: its solver, the coarsening of graphs
// that makes large models tractable for it, and tracing the sources of recomputed tensors.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class StrPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "str"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
  static constexpr std::size_t kMost = std::size_t{1} << 16, kMostRestricted = std::size_t{1} << 12;
};

}  // namespace tessera
