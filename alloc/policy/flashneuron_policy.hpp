// FlashNeuron: activations go to SSD in the order they are made, as long as their copies end in time.
//
// Bae et al., "FlashNeuron: SSD-Enabled Large-Batch Training of Very Deep Neural Networks", FAST 2021 (papers.md
// §5.2). In the order of creation until the bytes over capacity are covered, with the queue of the link kept: a
// copy begins when the one before ends. One whose copy would end behind the way forward is passed over.
//
// Not here: compression, its way to shorten copies (sparse, half precision), and copies from device to SSD
// without the host. Its pool that grows from both ends is the block layer's business.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class FlashneuronPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "flashneuron"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
