// MPress: what comes back soon goes to a lightly loaded device, what comes back late to the host.
//
// Zhou et al., "MPress: Democratizing Billion-Scale Model Training on Multi-GPU Servers via Memory-Saving
// Inter-Operator Parallelism", HPCA 2023 (papers.md §3.7). Longest gaps first until it fits: the host if its link hides
// both copies, else the peer if that does and has room, else remaking if there is a cost for it. Only then
// those that cannot be hidden, on the fastest link left. Ours, where a peer lends: of the host's link no more is
// expected than it carries in an iteration, or gaps of deep networks, which hide a copy each, would all be its own.
//
// Not here: mapping stages to devices, which is the program's; stripes over several links are one rate.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class MpressPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "mpress"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
};

}  // namespace tessera
