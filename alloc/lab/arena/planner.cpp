#include "lab/arena/planner.hpp"

#include <utility>

namespace tessera {

Result<ArenaFigures> survey_arena(std::span<const UsageRecord> records) {
  TESSERA_TRY(check_records(records));
  const TimeSlots slots(records);
  ArenaFigures figures;
  figures.naive = naive_bytes(records);
  figures.offset_lower_bound = offset_lower_bound(records, slots);
  figures.offset_greedy_by_size = greedy_by_size(records, slots).total;
  figures.offset_greedy_by_breadth = greedy_by_breadth(records, slots).total;
  figures.offset_best_fit = best_fit(records, slots).total;
  figures.shared_lower_bound = shared_lower_bound(records, slots);
  figures.shared_greedy_by_size = share_by_size(records, slots).total;
  figures.shared_improved = share_improved(records, slots).total;
  figures.shared_by_breadth = share_by_breadth(records, slots).total;
  return figures;
}

Result<OffsetPlan> plan_offsets(std::span<const UsageRecord> records) {
  TESSERA_TRY(check_records(records));
  const TimeSlots slots(records);
  OffsetPlan best = greedy_by_size(records, slots);
  for (auto* planner : {greedy_by_breadth, best_fit}) {
    OffsetPlan plan = planner(records, slots);
    if (plan.total < best.total) best = std::move(plan);
  }
  return best;
}

}  // namespace tessera
