// SuperNeurons: convolution outputs are offloaded and cheap layers recomputed, but only if liveness alone does
// not suffice.
//
// Wang et al., "SuperNeurons: Dynamic GPU Memory Management for Training Deep Neural Networks", PPoPP 2018. If
// everything fits with the program's own frees, nothing moves, since its tensor cache transfers only when an
// allocation fails. Otherwise outputs of convolutions (recognised by an adjacent weight) are offloaded, and
// fetched when the backward pass reaches the previous convolution; runs that can be recomputed are, once per
// segment while the peak fits (speed), else for each use (memory). On demand the least recently used run is
// evicted.
//
// Not implemented: its pool of 1 KiB blocks (the block layer's concern), the workspace of convolutions.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class SuperneuronsPolicy final : public Policy {
 public:
  std::string_view name() const override { return "superneurons"; }
  Decision decide(const Snapshot& snapshot) const override;
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
