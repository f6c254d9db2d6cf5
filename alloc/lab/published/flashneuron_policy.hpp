// FlashNeuron: activations go to SSD in the order of their creation, as long as their copies complete in time.
//
// Bae et al., "FlashNeuron: SSD-Enabled Large-Batch Training of Very Deep Neural Networks", FAST 2021. In order
// of creation until the bytes above capacity are covered, with the link's queue modelled: a copy begins when
// the previous one ends. An activation is skipped if its copy would end after the forward pass.
//
// Not implemented: compression to shorten copies (sparse, half precision), and copies from device to SSD that
// bypass the host. Its memory pool that grows from both ends is the block layer's concern.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class FlashneuronPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "flashneuron"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
