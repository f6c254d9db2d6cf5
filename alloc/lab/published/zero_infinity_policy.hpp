// ZeRO-Infinity: every state is offloaded, to the cheapest tier that keeps the device busy enough.
//
// Rajbhandari et al., "ZeRO-Infinity: Breaking the GPU Memory Wall for Extreme Scale Deep Learning", SC 2021.
// Efficiency = compute / (compute + bytes / bandwidth), which is its ait·bw / (ait·bw + peak) with numerator
// and denominator multiplied by the bytes. A class of runs goes to the file if its efficiency is at least one
// half, else to the host while it has room. Weights, gradients, states and saved activations are all offloaded,
// and fetched through a queue per tier, as late as it can bring them in time.
//
// Not implemented: partitioning over devices, tiling of one huge layer. The staging ring belongs to the file
// tier.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class ZeroInfinityPolicy final : public PlannedPolicy {
 public:
  std::string_view name() const override { return "zero-infinity"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
  static double efficiency(double compute_ns, Bytes bytes, double rate);
};

}  // namespace tessera
