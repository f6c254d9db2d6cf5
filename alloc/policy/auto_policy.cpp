#include "policy/auto_policy.hpp"

#include <algorithm>
#include <utility>

#include "planning/aggressive_plan.hpp"
#include "planning/excess_cover.hpp"
#include "planning/farthest_intervals.hpp"
#include "planning/nearest_places.hpp"
#include "planning/occupancy.hpp"
#include "policy/belady_policy.hpp"
#include "policy/capuchin_policy.hpp"
#include "policy/delta_policy.hpp"
#include "policy/frequency_policy.hpp"
#include "policy/lru_policy.hpp"
#include "policy/mpress_policy.hpp"
#include "policy/mru_policy.hpp"
#include "policy/planned_policy.hpp"
#include "policy/recency_policy.hpp"

namespace tessera {
namespace {

// cover_excess() visits every step of every gap several times. Above this limit it is left out.
constexpr std::size_t kMostWork = std::size_t{1} << 24;

// Published choices of gaps that are as good as ours when their moves are timed aggressively.
constexpr std::string_view kWellChosen[] = {"capuchin", "delta"};

// Strategies designed for a disk use the host instead if that suffices: it is never slower and does not wear
// out.
Machine without_file(Machine machine) {
  machine.file = Bytes();
  machine.file_write_rate = machine.file_read_rate = 0;
  return machine;
}

}  // namespace

// A very long iteration is not simulated with all candidates: those that were the best most often come first. The other
// published policies gain nothing beside these and the search (docs/experiments/simulation.md).
AutoPolicy::AutoPolicy() {
  rivals_.push_back(std::make_unique<RecencyPolicy>());
  rivals_.push_back(std::make_unique<BeladyPolicy>());
  rivals_.push_back(std::make_unique<CapuchinPolicy>());
  rivals_.push_back(std::make_unique<DeltaPolicy>());
  rivals_.push_back(std::make_unique<MpressPolicy>());  // where a device lends
  others_.push_back(std::make_unique<LruPolicy>());
  others_.push_back(std::make_unique<MruPolicy>());
  others_.push_back(std::make_unique<FrequencyPolicy>());
}

// Policies that decide alike count once.
std::vector<const Policy*> AutoPolicy::rules() const {
  std::vector<const Policy*> rules;
  for (const auto& rival : rivals_) {
    if (dynamic_cast<const PlannedPolicy*>(rival.get()) == nullptr) rules.push_back(rival.get());
  }
  for (const auto& other : others_) rules.push_back(other.get());
  return rules;
}

// One object for all policies that decide alike, so that a simulation can detect equal candidates.
const Policy* AutoPolicy::rest_of(const Policy& rival) const {
  if (dynamic_cast<const PlannedPolicy*>(&rival) == nullptr) return &rival;
  const auto farthest = std::ranges::find(rivals_, "belady", [](const auto& each) { return each->name(); });
  return farthest->get();
}

Decision AutoPolicy::decide(const Snapshot& snapshot) const { return rivals_.front()->decide(snapshot); }

void AutoPolicy::strategies(const Iteration& iteration, const Machine& all, const EmitCandidate& emit) const {
  const Machine machine = needs_file(iteration, all) ? all : without_file(all);
  const auto offer = [&](std::string_view name, OffloadPlan plan, bool strict = false) {
    return emit({name, std::move(plan), rivals_.front().get(), strict});
  };
  const auto offer_timed = [&](std::string_view name, const Iteration& seen, const OffloadPlan& placed) {
    const OffloadPlan plan = aggressive_plan(seen, machine, placed);
    return offer(name, plan) && offer(name, plan, true);
  };
  // The runs to spill from a full host are chosen on demand, or by the plan.
  const auto offer_aggressive = [&](std::string_view name, const Iteration& seen, const OffloadPlan& chosen) {
    const OffloadPlan near = spend_with_peer(seen, machine, chosen);
    if (!offer_timed(name, seen, near)) return false;
    const OffloadPlan split = spend_in_file(seen, machine, near);
    const bool splits =
        std::ranges::any_of(split, [](const OffloadInterval& interval) { return interval.to == Location::kFile; });
    return !splits || offer_timed(name, seen, split);
  };
  if (!offer("recency", {})) return;
  if (!offer_aggressive("aggressive", iteration, farthest_intervals(iteration, machine.device))) return;
  if (const std::optional<Iteration> freed = freed_at_once(iteration)) {
    if (!offer_aggressive("aggressive/freed", *freed, farthest_intervals(*freed, machine.device))) return;
  }
  if (iteration.uses.size() * iteration.steps.size() <= kMostWork) {
    for (const GapOrder order : {GapOrder::kReliefPerCopy, GapOrder::kLongest, GapOrder::kLargest}) {
      OffloadPlan cover = cover_excess(iteration, machine, order);
      if (!offer_aggressive("aggressive/cover", iteration, cover)) return;
      if (!offer("cover", spend_with_peer(iteration, machine, std::move(cover)))) return;
    }
  }
  for (const auto& rival : rivals_) {
    if (rival == rivals_.front()) continue;
    OffloadPlan plan = rival->plan(iteration, machine);
    const bool chooses_well = std::ranges::count(kWellChosen, rival->name()) != 0;
    if (chooses_well && !offer_aggressive("aggressive/published", iteration, plan)) return;
    if (!emit({rival->name(), std::move(plan), rest_of(*rival)})) return;
  }
}

// Of the strategies that need no simulation it is the fastest one to make, and as good as the others where lengths vary
// (docs/experiments/several-sizes.md). Blocks that are dead and held are better left to the fallback
// (docs/experiments/simulation.md).
std::optional<Strategy> AutoPolicy::quick_strategy(const Iteration& iteration, const Machine& all) const {
  const Machine machine = needs_file(iteration, all) ? all : without_file(all);
  const std::optional<Iteration> freed = freed_at_once(iteration);
  const Iteration& seen = freed ? *freed : iteration;
  const OffloadPlan chosen = spend_with_peer(seen, machine, farthest_intervals(seen, machine.device));
  OffloadPlan plan = aggressive_plan(seen, machine, spend_in_file(seen, machine, chosen));
  if (plan.empty() && !Occupancy(iteration, machine.device, GapTime(iteration, machine)).fits()) return std::nullopt;
  return Strategy{"aggressive", std::move(plan), rivals_.front().get(), false};
}

}  // namespace tessera
