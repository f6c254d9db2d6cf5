// DELTA: a filter scores what to let go, a director picks copying or remaking for it, each as it goes.
//
// Tang et al., "DELTA: Dynamically Optimizing GPU Memory beyond Tensor Recomputation", arXiv 2203.15980,
// TACO 2024 (papers.md §3.5). The score is bytes × idle time / cost, as in DTR: large, long unused and
// cheap to bring back leaves first. Of copying and remaking the one that costs less time is chosen.
// It needs no past, so it decides cold as well; of a learned iteration the idle time is the gap's.
//
// Not here: DTR's projected cost of what was let go around a run; a run names its own cost.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class DeltaPolicy final : public Policy {
 public:
  std::string_view name() const override { return "delta"; }
  Decision decide(const Snapshot& snapshot) const override;
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
