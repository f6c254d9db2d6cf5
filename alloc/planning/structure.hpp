// The structure of a repeated iteration: its forward and backward pass, its layers, the class of each run.
//
// Inferred from the uses alone, so that strategies that reason about layers work for programs without tags. A
// tag that names a class takes precedence.
//
// - Saved runs are written in one order and read again in reverse, so all their gaps contain the point between
//   the last forward and the first backward step: there, most bytes wait between two uses.
// - A run that is reallocated in each iteration is an activation if it is produced in the forward pass, else a
//   gradient. A permanent one is a weight if it is used in the forward pass, an optimizer state if it is used
//   in one step only, and else a gradient that is kept.
// - A layer begins with each step that uses different weights than the previous steps; without weights each
//   step is a layer.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "planning/iteration.hpp"

namespace tessera {

struct Structure {
  std::uint32_t forward_end = 0;           // first backward step; the number of steps if there is none
  std::vector<RunClass> classes;           // per run; kUnknown only for runs without uses
  std::vector<std::uint32_t> layer_of;     // per step, from 0
  std::vector<std::uint32_t> layer_begin;  // first step of each layer
};

Structure find_structure(const Iteration& iteration);

// The maximum bytes used by one step. No plan can need less device memory, plus what is pinned.
Bytes largest_step(const Iteration& iteration);

}  // namespace tessera
