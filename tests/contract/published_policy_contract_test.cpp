// All published policies: decisions and plans.
#include "plan_contract.hpp"
#include "policy/atc24_policy.hpp"
#include "policy/capuchin_policy.hpp"
#include "policy/delta_policy.hpp"
#include "policy/flashneuron_policy.hpp"
#include "policy/flexgen_policy.hpp"
#include "policy/flexmoe_policy.hpp"
#include "policy/l2l_policy.hpp"
#include "policy/lamina_policy.hpp"
#include "policy/lohan_policy.hpp"
#include "policy/mpress_policy.hpp"
#include "policy/patrickstar_policy.hpp"
#include "policy/str_policy.hpp"
#include "policy/stronghold_policy.hpp"
#include "policy/superneurons_policy.hpp"
#include "policy/swapadvisor_policy.hpp"
#include "policy/tba_policy.hpp"
#include "policy/te_groups_policy.hpp"
#include "policy/vdnn_policy.hpp"
#include "policy/zero_infinity_policy.hpp"
#include "policy/zero_offload_policy.hpp"
#include "policy_contract.hpp"

namespace tessera::contract {

using Published =
    ::testing::Types<VdnnAllPolicy, VdnnConvPolicy, VdnnDynPolicy, SuperneuronsPolicy, CapuchinPolicy, DeltaPolicy,
                     PatrickstarPolicy, StrongholdPolicy, L2lPolicy, ZeroOffloadPolicy, ZeroInfinityPolicy,
                     TeGroupsPolicy, TbaPolicy, Atc24Policy, LohanPolicy, FlashneuronPolicy, FlexgenPolicy,
                     SwapadvisorPolicy, StrPolicy, MpressPolicy, FlexmoePolicy, LaminaPolicy>;

INSTANTIATE_TYPED_TEST_SUITE_P(Published, PolicyContract, Published);
INSTANTIATE_TYPED_TEST_SUITE_P(Published, PlanContract, Published);

}  // namespace tessera::contract
