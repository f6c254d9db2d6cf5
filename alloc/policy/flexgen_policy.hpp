// FlexGen: a linear program splits each class of tensors over device, host and file.
//
// Sheng et al., "FlexGen: High-Throughput Generative Inference of Large Language Models with a Single GPU",
// ICML 2023 (papers.md §7.2). Unknown are the shares of weights, KV cache and the rest in each tier; the
// time of an iteration is the longest of computing and of each link's traffic, and is made as short as capacities
// allow, of which 0.8 counts, less what the largest step works on. Shares fall on runs in the order of
// their first use, file before host before device.
//
// Not here: its search over batch sizes and its attention on the processor, which change the program.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class FlexgenPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "flexgen"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
  static constexpr double kSafety = 0.8;
};

}  // namespace tessera
