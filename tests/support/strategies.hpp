// All strategies that a policy offers for an iteration, in its order.
#pragma once

#include <utility>
#include <vector>

#include "policy/policy.hpp"

namespace tessera::test {

inline std::vector<Strategy> strategies_of(const Policy& policy, const Iteration& iteration, const Machine& machine) {
  std::vector<Strategy> all;
  policy.strategies(iteration, machine, [&all](Strategy strategy) {
    all.push_back(std::move(strategy));
    return true;
  });
  return all;
}

}  // namespace tessera::test
