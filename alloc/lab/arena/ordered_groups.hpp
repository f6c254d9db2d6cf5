// The groups of a placement graph, and their precedence.
//
// Precedence follows the forward pass. A group with only backward nodes has no position in it and gets the
// mirror of its position in the backward pass. Groups that precede each other are merged.
//
// Thread safety: stateless.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "lab/arena/placement_graph.hpp"

namespace tessera {

// In a topological order; where there is a choice, the earliest node comes first.
struct OrderedGroups {
  std::vector<std::vector<std::size_t>> nodes;   // per group
  std::vector<std::vector<std::size_t>> before;  // predecessors, ascending
};

// Errors: kInvalidArgument for an edge to a missing node, or from a backward to a forward node.
Result<OrderedGroups> order_groups(const PlacementGraph& graph);

// The same groups in a chain: of all splits, only those along this order remain.
OrderedGroups in_line(OrderedGroups groups);

}  // namespace tessera
