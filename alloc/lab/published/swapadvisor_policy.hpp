// SwapAdvisor: a genetic search over how many runs of each size are on the device, with simulated time as the
// fitness.
//
// Huang et al., "SwapAdvisor: Pushing Deep Learning Beyond the GPU Memory Limit via Smart Swapping", ASPLOS
// 2020. Each size class has a number of objects. For given numbers, the iteration is traversed: a run without
// an object takes a free one of its class, else that of the run with the farthest next use. That run is
// offloaded from its latest use on, and is fetched when the object that it takes then is free. Numbers are
// derived from two parents, with occasional mutations that move objects between classes; the best by the
// forecast survive. The forecast is only a model and overrates some of them. So the last generation and the
// initial numbers are simulated on the engine itself, and the fastest is the result, never slower than the
// initial one. The same seed gives the same plans.
//
// Not implemented: the gene of the schedule. The order of launches is the program's.
//
// Thread safety: stateless.
#pragma once

#include <algorithm>
#include <cstdint>

#include "policy/planned_policy.hpp"

namespace tessera {

class SwapadvisorPolicy final : public PlannedPolicy {
 public:
  static constexpr double kMostSeed = 9007199254740992.0;  // 2^53: all whole numbers up to here are distinct
  explicit SwapadvisorPolicy(double seed = 0)
      : seed_(seed > 0 ? static_cast<std::uint64_t>(std::min(seed, kMostSeed)) : 0) {}
  std::string_view name() const override { return "swapadvisor"; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override;
  // The fittest, the initial plan, and the other survivors.
  void strategies(const Iteration& iteration, const Machine& machine, const EmitCandidate& emit) const override;
  bool may_be_refined() const override { return false; }

 private:
  std::uint64_t seed_;
};

}  // namespace tessera
