// Evicts the least frequently used run; recency matters only as the decay of the count.
//
// The frequency of a run is a use count that halves with each window of launches (base/decayed_count.hpp): a single use
// does not make a cold run hot, and a formerly hot one is evicted some windows later. Ties go to the least recently
// used.
//
// Source: least frequently used with dynamic aging, Arlitt et al., "Evaluating content management techniques for Web
// proxy caches", Performance Evaluation Review 27, 2000.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class FrequencyPolicy : public Policy {
 public:
  std::string_view name() const override { return "frequency"; }
  Decision decide(const Snapshot& snapshot) const final;
};

}  // namespace tessera
