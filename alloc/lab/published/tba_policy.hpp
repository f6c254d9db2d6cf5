// TBA (SSDTrain): activations of the first layers go to SSD, as many as its write rate can sustain.
//
// Wu et al., "SSDTrain: An Activation Offloading Framework to SSDs for Faster Large Language Model Training",
// arXiv 2408.10013. Counting from the front, V = bytes of the preceding layers + twice this layer's; time = 3 ×
// forward time - 2 × forward time of the preceding layers. The first layer with V / time above the write rate
// stays, and so do all after it. The last layer always stays, as do small runs. Layers are fetched one ahead,
// in reverse order.
//
// Forwarding, the use of a run while its store is pending, is a feature of the engine: it reads 0 bytes.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class TbaPolicy final : public PlannedPolicy {
 public:
  // The default is 8 Mi elements of two bytes, as in its code.
  explicit TbaPolicy(Bytes least = 16_MiB) : least_(least) {}
  std::string_view name() const override { return "tba"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
  // The number of layers to offload. Times in nanoseconds, rate in bytes per second.
  static std::size_t layers_leaving(const std::vector<Bytes>& bytes, const std::vector<double>& forward,
                                    double write_rate);

 private:
  Bytes least_;
};

}  // namespace tessera
