// Numbers the groups of nodes in a placement graph that stay together, and merges groups where that is free.
//
// A group that takes no time and has edges to only one other group (an input, an output without readers) can
// always follow that group without loss, and each such merge can halve the number of ideals. Only a memory
// limit that leaves no room for it could favour another placement.
//
// Thread safety: stateless.
#pragma once

#include <vector>

#include "lab/arena/placement_graph.hpp"

namespace tessera {

struct GroupNumbers {
  std::vector<std::size_t> of;  // per node
  std::size_t count = 0;
};

// REQUIRES: edges connect nodes of the graph.
GroupNumbers number_groups(const PlacementGraph& graph);

}  // namespace tessera
