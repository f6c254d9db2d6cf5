// Kuaishou's offload by ratio: the share alpha of what is saved leaves, the rest stays.
//
// Yuan et al., "Accelerating the Training of Large Language Models using Efficient Activation
// Rematerialization and Optimal Hybrid Parallelism", USENIX ATC 2024 (papers.md §4.7). Of each pass of a
// micro-batch through a model chunk: what it saves over 1 MiB, the largest first, up to the share alpha of
// the bytes, leaves and comes back while the one before it is used. The one at the border is split, at a base page.
// Alpha is given ("atc24:0.5"), or the smallest tenth that fits.
//
// Not here: two buffers of a whole pass each for the way back, balanced checkpointing, the search for parallel
// settings.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class Atc24Policy final : public PlannedPolicy {
 public:
  // Negative: the smallest tenth that makes the iteration fit.
  explicit Atc24Policy(double alpha = -1) : alpha_(alpha) {}
  std::string_view name() const override { return "atc24"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;

 private:
  double alpha_;
};

}  // namespace tessera
