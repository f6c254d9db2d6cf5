// Transformer Engine: the first n of L layers' activations leave, on a schedule of deadlines.
//
// NVIDIA Transformer Engine, CPU offloading (papers.md §4.6). Layer i must be out before layer L-n+i
// runs forward, and its way back begins with layer L-1-n+i's way back: so L-n layers' activations are on the
// device at most. Only what has at least 256 Ki elements of two bytes leaves.
//
// n is given ("te-groups:2"), or the smallest that fits. Not here: stalling for the deadline (the engine
// stalls where the room is needed), and finding views of one base (runs have none).
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
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;

 private:
  double layers_;
};

}  // namespace tessera
