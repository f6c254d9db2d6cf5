// FlexMoE: evicts the least frequently used (policy/frequency_policy.hpp).
//
// Nie et al., "FlexMoE: Scaling Large-scale Sparse Pre-trained Model Training via Dynamic Device Placement",
// SIGMOD 2023. Its scheduler follows how often each expert is used. A single use does not make a cold expert hot, and a
// formerly hot one is evicted some windows later.
//
// Not implemented: expanding and shrinking experts over devices (docs/decisions/0050-experts-are-not-copied.md).
// Evictions are bounded: no more than needed.
//
// Thread safety: stateless.
#pragma once

#include "policy/frequency_policy.hpp"

namespace tessera {

class FlexmoePolicy final : public FrequencyPolicy {
 public:
  std::string_view name() const override { return "flexmoe"; }
};

}  // namespace tessera
