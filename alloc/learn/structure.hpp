// What a repeated iteration is made of: its way forward and back, its layers, the class of each run.
//
// Found from the uses alone, so that strategies which think in layers work on programs that say
// nothing. A tag that names a class is believed instead.
//
// - Saved runs are written in one order and read again in the reverse, so all their gaps meet between the
//   last step forward and the first one back: that is where most bytes wait between two uses.
// - A run that is allocated anew in each iteration is an activation if it is made on the way forward,
//   else a gradient. One that stays is a weight if it is used on the way forward, an optimizer
//   state if it is used in one step only, and else a gradient that is kept.
// - A layer begins with each step that uses other weights than those before it; without weights each
//   step is one.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "learn/iteration.hpp"

namespace tessera {

struct Structure {
  std::uint32_t forward_end = 0;        // first step back; the number of steps where none goes back
  std::vector<RunClass> classes;        // of each run; kUnknown only for runs that are not used
  std::vector<std::uint32_t> layer_of;  // of each step, from 0 up
  std::vector<std::uint32_t> layer_begin;  // first step of each layer
};

Structure find_structure(const Iteration& iteration);

// Most bytes that one step uses. No plan needs less on the device, with what is pinned beside it.
Bytes largest_step(const Iteration& iteration);

}  // namespace tessera
