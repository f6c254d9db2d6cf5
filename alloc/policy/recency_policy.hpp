// Cost-aware recency with a thrash guard: the default until an iteration is learned.
//
// The next use of a run is predicted from its own past: one gap (the latest distance between two uses) after
// its latest use. The run with the farthest predicted use is evicted first. While predictions hold, this is
// Belady's rule on predicted times. So a cyclic scan over more than the device holds keeps a fixed part of it
// resident and streams the rest, where LRU would miss every time: that is the thrash guard. A run that missed
// its prediction (twice its gap has passed), or has no past, is predicted after as long a time as it has been
// unused, which is LRU's assumption. If the learned iteration gives the next use, that is taken instead.
//
// Cost: eviction is cheaper without copies (dead: free; clean: half), and evicting a run with pending work
// would stall, which weighs most.
//
// Sources: inter-reference gap, Phalke and Gopinath, SIGMETRICS 1995; bimodal insertion for cyclic scans,
// Qureshi et al., ISCA 2007; cost and recency, GreedyDual, Young 1994.
//
// Thread safety: stateless.
#pragma once

#include "base/epoch.hpp"
#include "policy/policy.hpp"

namespace tessera {

class RecencyPolicy final : public Policy {
 public:
  std::string_view name() const override { return "recency"; }
  Decision decide(const Snapshot& snapshot) const override;

  // Epochs from now until the predicted next use.
  static std::uint64_t expected_wait(const RunPicture& run, Epoch now);
};

}  // namespace tessera
