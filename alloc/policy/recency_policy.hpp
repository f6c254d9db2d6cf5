// Cost-aware recency with a thrash guard: the default until a sequence is learned.
//
// Each run is expected back where its own past says: one gap (the last distance between two uses)
// after its last use. The run expected back last leaves first. While a run keeps its promise this
// is Belady's rule on predicted times, so a cyclic scan over more than the device holds keeps a
// fixed part of it and streams the rest, where LRU would miss every time: that is the thrash guard.
// A run that broke its promise (its gap has passed twice over), or has no past, is expected after
// as long a time as it has not been used, which is LRU's assumption. Where a learned iteration tells
// when the next use comes, there is no need to guess.
//
// Cost: leaving is cheaper when nothing has to be copied (dead: free; clean: half), and a run that
// queued work still uses would make us wait, which weighs most.
//
// Sources: inter-reference gap, Phalke & Gopinath, SIGMETRICS 1995; the bimodal answer to cyclic
// scans, Qureshi et al., ISCA 2007; cost and recency, GreedyDual, Young 1994.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class RecencyPolicy final : public Policy {
 public:
  std::string_view name() const override { return "recency"; }
  Decision decide(const Snapshot& snapshot) const override;

  // Epochs from now until the run is expected to be used again.
  static std::uint64_t expected_wait(const RunPicture& run, std::uint64_t now);
};

}  // namespace tessera
