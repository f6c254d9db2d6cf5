// SwapAdvisor: genes say how many runs of each size are on the device; simulated time is the fitness.
//
// Huang et al., "SwapAdvisor: Pushing Deep Learning Beyond the GPU Memory Limit via Smart Swapping", ASPLOS
// 2020 (papers.md §3.4). A size class has a number of objects. For given numbers, the iteration is walked: a
// run without an object takes a free one of its class, else that of the run used farthest in the future, which is
// away from its last use on and comes back when the object it takes then is free. Numbers are bred from
// parents, an object given from one class to another at times; the best by the forecast live on. A forecast is a model,
// by which some are fitter than on the engine: so the last generation and the first numbers are rehearsed on the engine
// itself, and the fastest there is the answer, never slower than the first. The same seed gives the same plans.
//
// Not here: the gene of the schedule. The order of launches is the program's.
//
// Thread safety: stateless.
#pragma once

#include <algorithm>
#include <cstdint>

#include "policy/planned_policy.hpp"

namespace tessera {

class SwapadvisorPolicy final : public PlannedPolicy {
 public:
  static constexpr double kMostSeed = 9007199254740992.0;  // 2^53: every whole number below is one of its own
  explicit SwapadvisorPolicy(double seed = 0)
      : seed_(seed > 0 ? static_cast<std::uint64_t>(std::min(seed, kMostSeed)) : 0) {}
  std::string_view name() const override { return "swapadvisor"; }
  AbsencePlan plan(const Iteration& iteration, const Machine& machine) const override;
  // The fittest, the one that was bred from, and those that live with the fittest.
  void strategies(const Iteration& iteration, const Machine& machine, const Hear& hear) const override;
  bool may_be_refined() const override { return false; }

 private:
  std::uint64_t seed_;
};

}  // namespace tessera
