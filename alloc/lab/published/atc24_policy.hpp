// Kuaishou's ratio offload: the share alpha of the saved activations is offloaded, the rest stays.
//
// Yuan et al., "Accelerating the Training of Large Language Models using Efficient Activation Rematerialization
// and Optimal Hybrid Parallelism", USENIX ATC 2024. Applied to each pass of a micro-batch through a model
// chunk: of the activations above 1 MiB that it saves, the largest are offloaded first, up to the share alpha
// of their bytes. The last one is offloaded in part, in whole base pages, to meet the share. The shares come back in
// two buffers: that of the next backward pass is fetched while one runs. A pass that no other runs between is left
// alone by the paper; here, as in a program without a pipeline, each run of it is fetched while the one before it is
// in use. Alpha is given ("atc24:0.5"), or is the smallest multiple of 0.1 that fits.
//
// Runs leave as soon as they are idle, where the paper copies a pass as a whole while the next one runs, and memory of
// a buffer that nothing is in serves others. Not implemented: its balanced checkpointing, and its search for parallel
// settings.
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
