// What each pass saves for its way back, where several passes are under way at once.
//
// A pipeline's stage runs forward passes of some micro-batches (each through one of its model chunks) before
// and between the backward passes of others, so there is no one step at which the way back begins
// (PlanGround::saved_activations() is for that). But passes have no activation in common: steps that use the same
// one, from where it is made to where it is freed, are of one pass. A step goes back if it uses a gradient. Where
// nothing is tagged, classes are those of the one turn that learn/structure.hpp finds, so passes behind it are not seen.
//
// Thread safety: pure function.
#pragma once

#include <vector>

#include "policy/plan_ground.hpp"

namespace tessera {

// Gaps of activations from a step that goes forward to one that goes back, by pass, in the order in which passes save
// first; of one pass in the order in which they begin. Passes without any: none.
std::vector<std::vector<Gap>> saved_by_pass(const PlanGround& ground);

}  // namespace tessera
