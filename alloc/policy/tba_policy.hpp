// TBA (SSDTrain): activations of the first layers go to SSD, as many as its writes keep up with.
//
// Wu et al., "SSDTrain: An Activation Offloading Framework to SSDs for Faster Large Language Model
// Training", arXiv 2408.10013 (papers.md §5.1). From the front, V = bytes of the layers before + twice this
// one's; time = 3 × forward - 2 × forward of the layers before; the first layer with V / time over the
// write rate stays, and all behind it. The last layer stays always; small runs too. Layers come back
// one ahead, in reverse.
//
// Forwarding, a run wanted while its store is pending, is the engine's own: it reads 0 bytes.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class TbaPolicy final : public PlannedPolicy {
 public:
  // 8 Mi elements of two bytes, as its code has it.
  explicit TbaPolicy(Bytes least = 16_MiB) : least_(least) {}
  std::string_view name() const override { return "tba"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
  // How many layers' activations leave. Times in nanoseconds, rate in bytes per second.
  static std::size_t layers_leaving(const std::vector<Bytes>& bytes, const std::vector<double>& forward,
                                    double write_rate);

 private:
  Bytes least_;
};

}  // namespace tessera
