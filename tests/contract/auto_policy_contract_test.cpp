#include "policy/auto_policy.hpp"

#include "policy_contract.hpp"

namespace tessera::contract {

INSTANTIATE_TYPED_TEST_SUITE_P(Auto, PolicyContract, AutoPolicy);

}  // namespace tessera::contract
