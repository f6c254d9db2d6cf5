// The table of the library that programs run with. That of the laboratory is lab/published/policies.cpp.
#include "policy/shipped_policies.hpp"

namespace tessera {

const std::vector<PolicyEntry>& policies() {
  static const std::vector<PolicyEntry> entries = shipped_policies();
  return entries;
}

}  // namespace tessera
