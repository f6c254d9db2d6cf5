// FlexMoE: what is used seldom leaves; frequency counts, recency only as its decay.
//
// Nie et al., "FlexMoE: Scaling Large-scale Sparse Pre-trained Model Training via Dynamic Device Placement",
// SIGMOD 2023 (papers.md §7.4). Its scheduler follows how often each expert is used. The frequency of a run is a count
// of its uses that halves with each window of launches (base/decayed_count.hpp): one chance use does not make a cold
// expert hot, and one that was hot once is let go some windows later. Of equals, the least recently used leaves.
//
// Not here: expanding and shrinking experts over devices. Moves are bounded: what is needed leaves, no more.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class FlexmoePolicy final : public Policy {
 public:
  std::string_view name() const override { return "flexmoe"; }
  Decision decide(const Snapshot& snapshot) const override;
};

}  // namespace tessera
