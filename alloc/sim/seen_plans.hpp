// Detects candidate strategies that were seen before: many rules give the same plan if there is little to
// decide.
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "policy/policy.hpp"

namespace tessera {

class SeenPlans {
 public:
  // Returns false if an equivalent candidate was added before.
  bool add(const Strategy& strategy) {
    return ways_[{strategy.fallback, strategy.strict && !strategy.plan.empty()}].insert(way_of(strategy.plan)).second;
  }

 private:
  // The part of a plan that the engine carries out, in order.
  using Way = std::vector<std::array<std::uint64_t, 6>>;

  static Way way_of(const OffloadPlan& plan) {
    Way way;
    for (const auto& [gap, back_at, to, part] : plan) {
      const std::uint64_t recomputed = to == Location::kNowhere ? 1 : 0;
      if (!gap.dead) way.push_back({gap.run, gap.after, gap.until, back_at, recomputed, part.value()});
    }
    return way;
  }

  std::map<std::pair<const Policy*, bool>, std::set<Way>> ways_;
};

}  // namespace tessera
