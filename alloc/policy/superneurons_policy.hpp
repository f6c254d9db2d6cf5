// SuperNeurons: convolution outputs leave, cheap layers are remade, and only if memory does not do.
//
// Wang et al., "SuperNeurons: Dynamic GPU Memory Management for Training Deep Neural Networks", PPoPP
// 2018 (papers.md §3.2). Liveness first; while that fits nothing moves, as its tensor cache transfers only
// when an allocation fails. Else outputs of convolutions (known by the weight beside them) leave and come
// back at the convolution before on the way back; what can be remade is, once per segment while the
// peak fits (speed), else for each use (memory). On demand the least recently used leaves.
//
// Not here: its pool of 1 KiB blocks (ours is the block layer), the workspace of convolutions.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class SuperneuronsPolicy final : public Policy {
 public:
  std::string_view name() const override { return "superneurons"; }
  Decision decide(const Snapshot& snapshot) const override;
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
