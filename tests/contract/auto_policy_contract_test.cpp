#include "policy/auto_policy.hpp"

#include "plan_contract.hpp"
#include "policy_contract.hpp"

namespace tessera::contract {

INSTANTIATE_TYPED_TEST_SUITE_P(Auto, PolicyContract, AutoPolicy);
INSTANTIATE_TYPED_TEST_SUITE_P(Auto, PlanContract, AutoPolicy);

}  // namespace tessera::contract
