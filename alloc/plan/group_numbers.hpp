// Which nodes of a placement graph stay together: their groups, numbered, and what joins them for
// free.
//
// A group that takes no time and touches one other group only (an input, a piece that nobody reads)
// loses none by going where that one goes, and each that goes can halve the number of ideals. Only
// a limit of bytes that leaves no room for it could have wished it elsewhere.
//
// Thread safety: stateless.
#pragma once

#include <vector>

#include "plan/placement_graph.hpp"

namespace tessera {

struct GroupNumbers {
  std::vector<std::size_t> of;  // by node
  std::size_t count = 0;
};

// REQUIRES: edges between nodes of the graph.
GroupNumbers number_groups(const PlacementGraph& graph);

}  // namespace tessera
