// A trace in which operations use parts of blocks, as one in which they use whole blocks.
//
// Each block that is used in parts is cut wherever a part begins or ends, and its pieces become blocks of their own.
// All bytes live and are used exactly as before, so the bounds of the new trace hold for the old one.
//
// Thread safety: stateless.
#pragma once

#include <vector>

#include "lab/replay/trace.hpp"

namespace tessera {

// By block: the stretches that the operations use, in order, with those that overlap merged. Empty for a block that is
// never used in parts.
struct UsedStretch {
  Bytes offset, bytes;
  bool operator==(const UsedStretch&) const = default;
};
std::vector<std::vector<UsedStretch>> used_stretches(const Trace& trace);

// The operations are in the same order, and so are all other events.
Trace cut_blocks(const Trace& trace);

}  // namespace tessera
