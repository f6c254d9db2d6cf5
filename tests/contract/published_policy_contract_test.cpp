// All published policies: decisions and plans.
#include "lab/published/atc24_policy.hpp"
#include "lab/published/flashneuron_policy.hpp"
#include "lab/published/flexgen_policy.hpp"
#include "lab/published/flexmoe_policy.hpp"
#include "lab/published/l2l_policy.hpp"
#include "lab/published/lamina_policy.hpp"
#include "lab/published/lohan_policy.hpp"
#include "lab/published/patrickstar_policy.hpp"
#include "lab/published/str_policy.hpp"
#include "lab/published/stronghold_policy.hpp"
#include "lab/published/superneurons_policy.hpp"
#include "lab/published/swapadvisor_policy.hpp"
#include "lab/published/tba_policy.hpp"
#include "lab/published/te_groups_policy.hpp"
#include "lab/published/vdnn_policy.hpp"
#include "lab/published/zero_infinity_policy.hpp"
#include "lab/published/zero_offload_policy.hpp"
#include "plan_contract.hpp"
#include "policy/capuchin_policy.hpp"
#include "policy/delta_policy.hpp"
#include "policy/mpress_policy.hpp"
#include "policy_contract.hpp"

namespace tessera::contract {

using Published =
    ::testing::Types<VdnnAllPolicy, VdnnConvPolicy, VdnnDynPolicy, SuperneuronsPolicy, CapuchinPolicy, DeltaPolicy,
                     PatrickstarPolicy, StrongholdPolicy, L2lPolicy, ZeroOffloadPolicy, ZeroInfinityPolicy,
                     TeGroupsPolicy, TbaPolicy, Atc24Policy, LohanPolicy, FlashneuronPolicy, FlexgenPolicy,
                     SwapadvisorPolicy, StrPolicy, MpressPolicy, FlexmoePolicy, LaminaPolicy>;

struct Names {
  template <class P>
  static std::string GetName(int /*index*/) {
    return std::string(P().name());
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Published, PolicyContract, Published, Names);
INSTANTIATE_TYPED_TEST_SUITE_P(Published, PlanContract, Published, Names);

}  // namespace tessera::contract
