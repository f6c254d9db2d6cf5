// Kuaishou's ratio offload: the share alpha of the saved activations is offloaded, the rest stays.
//
// Yuan et al., "Accelerating the Training of Large Language Models using Efficient Activation Rematerialization
// and Optimal Hybrid Parallelism", USENIX ATC 2024. Applied to each pass of a micro-batch through a model
// chunk: of the activations above 1 MiB that it saves, the largest are offloaded first, up to the share alpha
// of their bytes. Each is fetched while the previous one is in use. The last one is offloaded in part, in whole
// base pages, to meet the share. Alpha is given ("atc24:0.5"), or is the smallest multiple of 0.1 that fits.
//
// Not implemented: the paper's two buffers of a whole pass each for fetching, its balanced checkpointing, and
// its search for parallel settings.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class Atc24Policy final : public PlannedPolicy {
 public:
  // Negative: the smallest multiple of 0.1 that makes the iteration fit.
  explicit Atc24Policy(double alpha = -1) : alpha_(alpha) {}
  std::string_view name() const override { return "atc24"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;

 private:
  double alpha_;
};

}  // namespace tessera
