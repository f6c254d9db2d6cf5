#include "policy/lru_policy.hpp"

#include "policy_contract.hpp"

namespace tessera::contract {

INSTANTIATE_TYPED_TEST_SUITE_P(Lru, PolicyContract, LruPolicy);

}  // namespace tessera::contract
