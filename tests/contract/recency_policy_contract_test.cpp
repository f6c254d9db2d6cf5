#include "policy/recency_policy.hpp"

#include "policy_contract.hpp"

namespace tessera::contract {

INSTANTIATE_TYPED_TEST_SUITE_P(Recency, PolicyContract, RecencyPolicy);

}  // namespace tessera::contract
