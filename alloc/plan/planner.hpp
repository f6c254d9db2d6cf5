// Static memory plans: blocks whose lives are known beforehand, placed to need the least memory.
// The front of this room.
//
// Planners are pure: records in, places out. None is the best everywhere, so all of them are here,
// beside the bounds that tell how much there is left to gain.
//
// Thread safety: stateless.
#pragma once

#include <span>

#include "base/status.hpp"
#include "plan/best_fit.hpp"
#include "plan/greedy_offsets.hpp"
#include "plan/liveness.hpp"
#include "plan/shared_runs.hpp"
#include "plan/shared_objects.hpp"
#include "plan/usage_record.hpp"

namespace tessera {

// What each planner needs for the same records.
struct ArenaFigures {
  Bytes naive;
  Bytes offset_lower_bound;
  Bytes offset_greedy_by_size;
  Bytes offset_greedy_by_breadth;
  Bytes offset_best_fit;
  Bytes shared_lower_bound;
  Bytes shared_greedy_by_size;
  Bytes shared_improved;
  Bytes shared_by_breadth;
};

// Errors: kInvalidArgument, as check_records.
Result<ArenaFigures> survey_arena(std::span<const UsageRecord> records);

// The offset plan that needs the least. Errors: kInvalidArgument, as check_records.
Result<OffsetPlan> plan_offsets(std::span<const UsageRecord> records);

}  // namespace tessera
