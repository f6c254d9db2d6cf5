// STR: the exact optimum of what stays, is copied or is remade, for iterations of a few gaps.
//
// Zong et al., "STR: Hybrid Tensor Re-Generation to Break Memory Wall for DNN Training", TPDS 2023 (papers.md §3.6). One problem
// for copying and remaking; a copy that left stays valid on the host, so leaving a second time moves 0
// bytes. Every choice for every gap is tried and judged by the forecast: stay, come back one copy early,
// come back on demand, be remade. So it is the yardstick for heuristics that choose among these.
//
// Beyond kMost combinations it plans as Capuchin does. Not here: its solver and the coarsening of graphs that
// brings large models within reach of one, and tracing sources of what is remade.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class StrPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "str"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
  static constexpr std::size_t kMost = std::size_t{1} << 12;
};

}  // namespace tessera
