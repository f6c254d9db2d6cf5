// Static memory plans: places blocks with known lifetimes so that they need the least memory. The front header
// of this layer.
//
// Planners are pure: records in, places out. No planner is the best everywhere, so all are provided, with the
// bounds that show how much could still be gained.
//
// Thread safety: stateless.
#pragma once

#include <span>

#include "base/status.hpp"
#include "lab/arena/best_fit.hpp"
#include "lab/arena/greedy_offsets.hpp"
#include "lab/arena/liveness.hpp"
#include "lab/arena/shared_objects.hpp"
#include "lab/arena/usage_record.hpp"
#include "planning/shared_runs.hpp"

namespace tessera {

// The memory that each planner needs for the same records.
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

// Errors: kInvalidArgument, from check_records.
Result<ArenaFigures> survey_arena(std::span<const UsageRecord> records);

// The offset plan that needs the least memory. Errors: kInvalidArgument, from check_records.
Result<OffsetPlan> plan_offsets(std::span<const UsageRecord> records);

}  // namespace tessera
