// DELTA: a filter scores what to evict, and a director chooses between copying and recomputing each.
//
// Tang et al., "DELTA: Dynamically Optimizing GPU Memory beyond Tensor Recomputation", arXiv 2203.15980, TACO
// 2024. The score is bytes × idle time / cost, as in DTR: runs that are large, long unused and cheap to bring
// back are evicted first. The cheaper of copying and recomputing is chosen. It needs no history, so it also
// works from a cold start; in a learned iteration the idle time is the gap.
//
// Not implemented: DTR's projected cost of evicted neighbours; a run has its own fixed cost.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class DeltaPolicy final : public Policy {
 public:
  std::string_view name() const override { return "delta"; }
  Decision decide(const Snapshot& snapshot) const override;
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
