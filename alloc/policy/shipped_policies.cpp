#include "policy/shipped_policies.hpp"

#include "policy/auto_policy.hpp"
#include "policy/belady_policy.hpp"
#include "policy/capuchin_policy.hpp"
#include "policy/delta_policy.hpp"
#include "policy/lru_policy.hpp"
#include "policy/mpress_policy.hpp"
#include "policy/recency_policy.hpp"

namespace tessera {

std::vector<PolicyEntry> shipped_policies() {
  return {
      {"auto", "ours", "learns the iteration and hides its copies; recency until then", &make<AutoPolicy>},
      {"recency", "ours", "evicts the farthest expected reuse, by each run's reuse interval; cost-aware",
       &make<RecencyPolicy>},
      {"lru", "folklore", "evicts the least recently used", &make<LruPolicy>},
      {"belady", "Belady, IBM Systems Journal 1966", "evicts the farthest next use in the learned iteration",
       &make<BeladyPolicy>},
      {"capuchin", "Capuchin, ASPLOS 2020",
       "offloads the longest free time first; the fetch lead is tuned by feedback, or given", &make<CapuchinPolicy>,
       &make_with<CapuchinPolicy>},
      {"delta", "DELTA, TACO 2024", "evicts the largest bytes x idle time / cost, by copy or recomputation",
       &make<DeltaPolicy>},
      {"mpress", "MPress, HPCA 2023", "offloads short free times to a peer, long ones to the host",
       &make<MpressPolicy>},
  };
}

}  // namespace tessera
