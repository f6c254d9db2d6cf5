// A block of the past as if it had shared a run then, as the likes of it will from now on.
//
// Launches are known by the sizes of their runs, so what a program has done before its blocks were placed by plan
// (block/placed_blocks.hpp) would be another iteration than what it does behind that. A history that is told of these is of
// the same one.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.hpp"

namespace tessera {

struct MovedBlock {
  std::uint64_t run = 0;    // that it had for itself, by name (Run::name),
  std::uint64_t made = 0;   // used by launches behind this epoch ...
  std::uint64_t freed = 0;  // ... and before this one; 0 = it lives
  std::uint64_t to = 0;     // the shared run, by name, ...
  Bytes bytes;              // ... and what that has
  // No other block of the shared run lived when it was made: the epoch in which the last one was freed, 0 = none was.
  std::optional<std::uint64_t> freed_before;
};

}  // namespace tessera
