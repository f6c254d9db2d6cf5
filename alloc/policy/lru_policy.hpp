// Least recently used leaves first: the yardstick every other policy is measured by.
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
