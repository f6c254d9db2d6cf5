#include "policy/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "policy/atc24_policy.hpp"
#include "policy/auto_policy.hpp"
#include "policy/belady_policy.hpp"
#include "policy/capuchin_policy.hpp"
#include "policy/delta_policy.hpp"
#include "policy/flashneuron_policy.hpp"
#include "policy/flexgen_policy.hpp"
#include "policy/flexmoe_policy.hpp"
#include "policy/l2l_policy.hpp"
#include "policy/lamina_policy.hpp"
#include "policy/lohan_policy.hpp"
#include "policy/lru_policy.hpp"
#include "policy/mpress_policy.hpp"
#include "policy/patrickstar_policy.hpp"
#include "policy/recency_policy.hpp"
#include "policy/str_policy.hpp"
#include "policy/stronghold_policy.hpp"
#include "policy/superneurons_policy.hpp"
#include "policy/swapadvisor_policy.hpp"
#include "policy/tba_policy.hpp"
#include "policy/te_groups_policy.hpp"
#include "policy/vdnn_policy.hpp"
#include "policy/zero_infinity_policy.hpp"
#include "policy/zero_offload_policy.hpp"

namespace tessera {
namespace {

template <class P>
std::unique_ptr<Policy> make() {
  return std::make_unique<P>();
}

template <class P>
std::unique_ptr<Policy> make_with(double number) {
  return std::make_unique<P>(number);
}

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::unique_ptr<Policy> made_by(const PolicyEntry& entry, std::string_view name) {
  if (name == entry.name) return entry.make();
  const std::size_t colon = name.find(':');
  if (!entry.make_with || colon != entry.name.size() || name.substr(0, colon) != entry.name) return nullptr;
  const std::optional<double> number = number_of(name.substr(colon + 1));
  return number ? entry.make_with(*number) : nullptr;
}

}  // namespace

OffloadPlan Policy::plan(const Iteration&, const Machine&) const { return {}; }

void Policy::strategies(const Iteration& iteration, const Machine& machine, const EmitCandidate& emit) const {
  emit({name(), plan(iteration, machine), this});
}

const std::vector<PolicyEntry>& policies() {
  static const std::vector<PolicyEntry> entries = {
      {"auto", "ours", "learns the iteration and hides its copies; recency until then", &make<AutoPolicy>},
      {"recency", "ours", "evicts the farthest expected reuse, by each run's reuse interval; cost-aware",
       &make<RecencyPolicy>},
      {"lru", "folklore", "evicts the least recently used", &make<LruPolicy>},
      {"belady", "Belady, IBM Systems Journal 1966", "evicts the farthest next use in the learned iteration",
       &make<BeladyPolicy>},
      {"vdnn-all", "vDNN, MICRO 2016", "offloads every saved activation, fetches one per layer", &make<VdnnAllPolicy>},
      {"vdnn-conv", "vDNN, MICRO 2016", "offloads the inputs of weighted layers", &make<VdnnConvPolicy>},
      {"vdnn-dyn", "vDNN, MICRO 2016", "the first of none, conv and all that fits", &make<VdnnDynPolicy>},
      {"superneurons", "SuperNeurons, PPoPP 2018",
       "offloads outputs of weighted layers and recomputes cheap ones, if memory is short", &make<SuperneuronsPolicy>},
      {"capuchin", "Capuchin, ASPLOS 2020",
       "offloads the longest free time first; the fetch lead is tuned by feedback, or given", &make<CapuchinPolicy>,
       &make_with<CapuchinPolicy>},
      {"delta", "DELTA, TACO 2024", "evicts the largest bytes x idle time / cost, by copy or recomputation",
       &make<DeltaPolicy>},
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
      {"mpress", "MPress, HPCA 2023", "offloads short free times to a peer, long ones to the host",
       &make<MpressPolicy>},
      {"flexmoe", "FlexMoE, SIGMOD 2023", "evicts the least frequently used, with decaying frequency",
       &make<FlexmoePolicy>},
      {"lamina", "Lamina, arXiv 2405.01814", "keeps the KV cache in a separate tier, everything else on the device",
       &make<LaminaPolicy>},
  };
  return entries;
}

std::string with_seed(std::string_view name, std::uint64_t seed) {
  const auto draws = [name](const PolicyEntry& entry) { return entry.draws && entry.name == name; };
  return std::ranges::any_of(policies(), draws) ? fmt::format("{}:{}", name, seed) : std::string(name);
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name) {
  std::string known;
  for (const PolicyEntry& entry : policies()) {
    if (std::unique_ptr<Policy> policy = made_by(entry, name)) return policy;
    known += known.empty() ? "" : ", ";
    known += entry.name;
  }
  return Status(Code::kInvalidArgument, fmt::format("unknown policy '{}'; available: {}", name, known));
}

}  // namespace tessera
