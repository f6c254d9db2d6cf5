// FlexGen: a linear program splits each class of tensors over device, host and file.
//
// Sheng et al., "FlexGen: High-Throughput Generative Inference of Large Language Models with a Single GPU",
// ICML 2023. The unknowns are the shares of weights, KV cache and the rest in each tier. The time of an
// iteration is the maximum of computing and of each link's traffic; it is minimised subject to the capacities,
// of which a fraction 0.8 is used, less what the largest step needs. Runs are assigned in the order of their
// first use, file before host before device.
//
// Not implemented: its search over batch sizes and its attention on the processor, which change the program.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class FlexgenPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "flexgen"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
  static constexpr double kSafety = 0.8;
};

}  // namespace tessera
