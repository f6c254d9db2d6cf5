// Evicts the most recently used run: the rule for scans, where what was just used is needed last.
//
// Source: Chou and DeWitt, "An evaluation of buffer management strategies for relational database systems", VLDB 1985.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class MruPolicy final : public Policy {
 public:
  std::string_view name() const override { return "mru"; }
  Decision decide(const Snapshot& snapshot) const override;
};

}  // namespace tessera
