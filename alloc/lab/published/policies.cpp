// The table of the laboratory: the policies that programs run with, and the published ones.
#include <iterator>

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
#include "policy/shipped_policies.hpp"

namespace tessera {
namespace {

const PolicyEntry kPublished[] = {
    {"vdnn-all", "vDNN, MICRO 2016", "offloads every saved activation, fetches one per layer", &make<VdnnAllPolicy>},
    {"vdnn-conv", "vDNN, MICRO 2016", "offloads the inputs of weighted layers", &make<VdnnConvPolicy>},
    {"vdnn-dyn", "vDNN, MICRO 2016", "the first of none, conv and all that fits", &make<VdnnDynPolicy>},
    {"superneurons", "SuperNeurons, PPoPP 2018",
     "offloads outputs of weighted layers and recomputes cheap ones, if memory is short", &make<SuperneuronsPolicy>},
    {"patrickstar", "PatrickStar, TPDS 2022", "evicts the farthest next moment of the recorded iteration",
     &make<PatrickstarPolicy>},
    {"stronghold", "STRONGHOLD, SC 2022", "keeps a window of layers, large enough to hide fetches, or given",
     &make<StrongholdPolicy>, &make_with<StrongholdPolicy>},
    {"l2l", "L2L, arXiv 2002.05645", "one layer at a time, the next is prefetched", &make<L2lPolicy>},
    {"zero-offload", "ZeRO-Offload, USENIX ATC 2021", "offloads optimizer states and gradients until the update",
     &make<ZeroOffloadPolicy>},
    {"zero-infinity", "ZeRO-Infinity, SC 2021", "offloads all states, to the cheapest tier that is fast enough",
     &make<ZeroInfinityPolicy>},
    {"te-groups", "NVIDIA Transformer Engine",
     "offloads the first n of L layers, with deadlines; n is chosen to fit, or given", &make<TeGroupsPolicy>,
     &make_with<TeGroupsPolicy>},
    {"tba", "SSDTrain, arXiv 2408.10013", "offloads the first layers to SSD, as many as its write bandwidth allows",
     &make<TbaPolicy>},
    {"atc24", "Kuaishou, USENIX ATC 2024",
     "offloads the share alpha of saved tensors; alpha is chosen to fit, or given", &make<Atc24Policy>,
     &make_with<Atc24Policy>},
    {"lohan", "LoHan, ICDE 2025", "searches how many activations to offload, the most expensive first",
     &make<LohanPolicy>},
    {"flashneuron", "FlashNeuron, FAST 2021", "offloads in order of creation, as long as copies end in time",
     &make<FlashneuronPolicy>},
    {"flexgen", "FlexGen, ICML 2023", "a linear program splits weights, KV cache and the rest over the tiers",
     &make<FlexgenPolicy>},
    {"swapadvisor", "SwapAdvisor, ASPLOS 2020",
     "genetic search for the number of resident runs of each size; a seed can be given", &make<SwapadvisorPolicy>,
     &make_with<SwapadvisorPolicy>, true},
    {"str", "STR, TPDS 2023", "the exact optimum for iterations with few gaps", &make<StrPolicy>},
    {"flexmoe", "FlexMoE, SIGMOD 2023", "evicts the least frequently used, with decaying frequency",
     &make<FlexmoePolicy>},
    {"lamina", "Lamina, arXiv 2405.01814", "keeps the KV cache in a separate tier, everything else on the device",
     &make<LaminaPolicy>},
};

std::vector<PolicyEntry> all_policies() {
  std::vector<PolicyEntry> entries = shipped_policies();
  entries.insert(entries.end(), std::begin(kPublished), std::end(kPublished));
  return entries;
}

}  // namespace

const std::vector<PolicyEntry>& policies() {
  static const std::vector<PolicyEntry> entries = all_policies();
  return entries;
}

}  // namespace tessera
