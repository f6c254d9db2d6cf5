// The groups of a placement graph, and which must come before which.
//
// The order is that of the forward pass. A group of backward nodes alone has no place in it and
// gets the one that mirrors its own pass. Groups that come before each other are one group.
//
// Thread safety: stateless.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "plan/placement_graph.hpp"

namespace tessera {

// In an order that puts every group behind those it needs; earliest node first where it is free.
struct OrderedGroups {
  std::vector<std::vector<std::size_t>> nodes;   // by group
  std::vector<std::vector<std::size_t>> before;  // groups that must come first, rising
};

// Errors: kInvalidArgument for an edge to no node, or from a backward to a forward node.
Result<OrderedGroups> order_groups(const PlacementGraph& graph);

// The same groups one after the other: of all splits, only those along this order remain.
OrderedGroups in_line(OrderedGroups groups);

}  // namespace tessera
