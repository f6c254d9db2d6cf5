// Evicts the least recently used run: the baseline for every other policy.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class LruPolicy final : public Policy {
 public:
  std::string_view name() const override { return "lru"; }
  Decision decide(const Snapshot& snapshot) const override;
};

}  // namespace tessera
