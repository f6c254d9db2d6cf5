// SwapAdvisor: genes say how many runs of each size are on the device; the forecast is the fitness.
//
// Huang et al., "SwapAdvisor: Pushing Deep Learning Beyond the GPU Memory Limit via Smart Swapping", ASPLOS
// 2020 (papers.md §3.4). A size class has a number of objects. For given numbers, the iteration is walked: a
// run without an object takes a free one of its class, else that of the run used farthest in the future, which is
// away from its last use on and comes back when the object it takes then is free. Numbers are bred from
// parents, an object given from one class to another at times; the best live on, so no plan is worse than
// the first. The same seed gives the same plan.
//
// Not here: the gene of the schedule. The order of launches is the program's.
//
// Thread safety: stateless.
#pragma once

#include "policy/planned_policy.hpp"

namespace tessera {

class SwapadvisorPolicy final : public PlannedPolicy {
 public:
  explicit SwapadvisorPolicy(std::uint64_t seed = 1) : seed_(seed) {}
  std::string_view name() const override { return "swapadvisor"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;

 private:
  std::uint64_t seed_;
};

}  // namespace tessera
