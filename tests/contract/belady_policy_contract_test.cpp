#include "policy/belady_policy.hpp"

#include "policy_contract.hpp"

namespace tessera::contract {

INSTANTIATE_TYPED_TEST_SUITE_P(Belady, PolicyContract, BeladyPolicy);

}  // namespace tessera::contract
