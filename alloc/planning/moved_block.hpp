// Rewrites a past block as if it had shared a run then, as blocks like it will from now on.
//
// Launches are recognised by the sizes of their runs. So the launches before blocks were placed by plan
// (block/placed_blocks.hpp) would look like a different iteration from those after. A history rewritten with
// these records sees the same one.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>

#include "base/epoch.hpp"
#include "base/units.hpp"

namespace tessera {

struct MovedBlock {
  std::uint64_t run = 0;  // the run it had for itself, by name (Run::name)
  Epoch made{};           // used by launches after this epoch ...
  Epoch freed{};          // ... and before this one; never = still live
  std::uint64_t to = 0;   // the shared run, by name ...
  Bytes bytes;            // ... and its size
  // Set if no other block of the shared run was live when it was made: the epoch in which the last one was
  // freed, never = none was.
  std::optional<Epoch> freed_before;
};

}  // namespace tessera
