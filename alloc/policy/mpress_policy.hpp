// MPress: runs that return soon go to a lightly loaded device, those that return late to the host.
//
// Zhou et al., "MPress: Democratizing Billion-Scale Model Training on Multi-GPU Servers via Memory-Saving
// Inter-Operator Parallelism", HPCA 2023. Longest gaps first until everything fits: to the host if its link
// hides both copies, else to the peer if that does and has room, else by recomputation if a cost is given. Only
// then those that cannot be hidden, on the fastest remaining link. Our addition, if a peer lends memory: the
// host link is not given more than it carries in an iteration. Otherwise the gaps of deep networks, each of
// which hides a copy, would all be assigned to it.
//
// Stripes over several lenders are the engine's (docs/decisions/0049-a-lane-for-each-lender.md): their memory and the
// rates of their links count as one here. Not implemented: mapping stages to devices, which is up to the program.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class MpressPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "mpress"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
