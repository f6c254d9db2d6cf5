// The activations that each pass saves for its backward pass, if several passes are in flight at once.
//
// A pipeline stage runs forward passes of some micro-batches (each through one of its model chunks) before and
// between the backward passes of others, so there is no single step at which the backward pass begins
// (PlanGround::saved_activations() assumes one). But passes share no activations: steps that use the same one,
// between its allocation and its free, belong to one pass. A step is a backward step if it uses a gradient, or if steps
// of other passes ran since the last use of its input: with checkpoints, the first backward steps make activations
// again and use no gradient. Without tags, classes come from the single forward/backward boundary that
// planning/structure.hpp finds, so passes after it are not detected.
//
// Thread safety: pure function.
#pragma once

#include <vector>

#include "policy/plan_ground.hpp"

namespace tessera {

// Gaps of activations from a forward step to a backward step, grouped by pass. Passes are in the order in which
// they first save; gaps of a pass are in the order in which they begin. Passes without any are omitted.
std::vector<std::vector<Gap>> saved_by_pass(const PlanGround& ground);

}  // namespace tessera
