// The policies that a program runs with: ours, and those published ones that `auto` needs as candidates. The laboratory
// has the others too (lab/published/).
//
// Thread safety: stateless.
#pragma once

#include <memory>
#include <vector>

#include "policy/policy.hpp"

namespace tessera {

std::vector<PolicyEntry> shipped_policies();

// For PolicyEntry::make and make_with.
template <class P>
std::unique_ptr<Policy> make() {
  return std::make_unique<P>();
}

template <class P>
std::unique_ptr<Policy> make_with(double number) {
  return std::make_unique<P>(number);
}

}  // namespace tessera
