// The nodes of a graph in a linear order that respects every dependency. A launch in parts takes consecutive ranges of
// it.
//
// The nodes of a child graph take the place of the child node. Memory that a graph allocates for itself is valid within
// one launch only, so the range from its allocation to its free may not be split. The callback of a host node and the
// event of a record node are stored with the node: an executable graph cannot be queried for them, and such a node can
// be skipped only by giving it something else to do.
//
// Thread safety: any thread; access to a graph must be serialised by the program, as CUDA requires.
#pragma once

#include <vector>

#include "cuda_api.hpp"

namespace tessera::preload {

struct OrderedNode {
  CUgraphNode node = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  bool joined = false;           // must be in the same part as the previous node
  CUDA_HOST_NODE_PARAMS call{};  // of a host node
  CUevent event = nullptr;       // of a record node
};
using OrderedNodes = std::vector<OrderedNode>;

// All nodes of the graph. Empty if the graph cannot be split: it has nodes other than kernels, copies, sets, host
// functions, events, child graphs and memory nodes, or allocates memory that it does not free.
OrderedNodes order_to_cut(CUgraph graph);

// Whether CUDA can disable nodes of this kind.
bool can_be_disabled(CUgraphNodeType type);

}  // namespace tessera::preload
