// Rewrites recorded launches as if blocks had shared runs from the start.
//
// Thread safety: a pure function of its arguments.
#pragma once

#include <span>

#include "planning/moved_block.hpp"
#include "residency/iteration/launch_record.hpp"

namespace tessera {

// REQUIRES: at least one block, in allocation order.
void rewrite_as_shared(LaunchRecord& record, std::span<const MovedBlock> moved);

}  // namespace tessera
