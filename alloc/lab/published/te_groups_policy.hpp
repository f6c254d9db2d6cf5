// Transformer Engine: the activations of the first n of L layers are offloaded, with scheduled deadlines.
//
// NVIDIA Transformer Engine, CPU offloading. Layer i must be evicted before layer L-n+i runs forward, and its
// fetch begins with the backward pass of layer L-1-n+i, so at most L-n layers' activations are on the device.
// Only runs of at least 256 Ki elements of two bytes are offloaded.
//
// n is given ("te-groups:2"), or is the smallest that fits. Not implemented: stalling for the deadline (the
// engine stalls where the room is needed), and detecting views of one base (runs have none).
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class TeGroupsPolicy final : public PlannedPolicy {
 public:
  // Negative: the smallest number of layers that makes the iteration fit.
  explicit TeGroupsPolicy(double layers = -1) : layers_(layers) {}
  std::string_view name() const override { return "te-groups"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;

 private:
  double layers_;
};

}  // namespace tessera
