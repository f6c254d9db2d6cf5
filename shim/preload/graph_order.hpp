// The nodes of a graph in one row, in an order that keeps every dependency: what a launch in parts
// takes stretches of.
//
// A child graph's nodes stand where the child stands. Memory that a graph allocates for itself holds
// its bytes within one launch only, so nothing from its allocation to its free may be parted. What a
// host node calls and a record node records is kept beside the node: an executable graph does not
// tell, and can leave such a node out only by being given something else to do.
//
// Thread safety: any thread; a graph itself is the program's to guard, as CUDA says.
#pragma once

#include <vector>

#include "cuda_api.hpp"

namespace tessera::preload {

struct OrderedNode {
  CUgraphNode node = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  bool joined = false;           // in one part with the node before it
  CUDA_HOST_NODE_PARAMS call{};  // of a host node
  CUevent event = nullptr;       // of a record node
};
using OrderedNodes = std::vector<OrderedNode>;

// All nodes of the graph; nothing when it cannot be cut: it has nodes of other kinds than kernels,
// copies, sets, host functions, events, child graphs and memory, or leaves memory behind.
OrderedNodes order_to_cut(CUgraph graph);

// The kinds that CUDA can disable.
bool can_be_disabled(CUgraphNodeType type);

}  // namespace tessera::preload
