#include "graph_order.hpp"

#include <map>
#include <set>
#include <utility>

#include "true_driver.hpp"

namespace tessera::preload {
namespace {

using Nodes = std::vector<CUgraphNode>;
using Edges = std::pair<Nodes, Nodes>;  // from, to

bool read_edges(CUgraph graph, Edges& edges) {
  std::size_t count = 0;
  const auto read = [&](CUgraphNode* from, CUgraphNode* to) {
    return call_true(&TrueDriver::cuGraphGetEdges_v2, graph, from, to, static_cast<CUgraphEdgeData*>(nullptr),
                     &count) == CUDA_SUCCESS;
  };
  if (!read(nullptr, nullptr)) return false;
  edges.first.resize(count);
  edges.second.resize(count);
  return count == 0 || read(edges.first.data(), edges.second.data());
}

bool read_nodes(CUgraph graph, Nodes& nodes) {
  std::size_t count = 0;
  const auto read = [&](CUgraphNode* to) {
    return call_true(&TrueDriver::cuGraphGetNodes, graph, to, &count) == CUDA_SUCCESS;
  };
  if (!read(nullptr)) return false;
  nodes.resize(count);
  return count == 0 || read(nodes.data());
}

// False for a kind of node that a part can neither leave out nor repeat.
bool read_node(CUgraphNode node, OrderedNode& read) {
  read.node = node;
  if (call_true(&TrueDriver::cuGraphNodeGetType, node, &read.type) != CUDA_SUCCESS) return false;
  switch (read.type) {
    case CU_GRAPH_NODE_TYPE_HOST:
      return call_true(&TrueDriver::cuGraphHostNodeGetParams, node, &read.call) == CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return call_true(&TrueDriver::cuGraphEventRecordNodeGetEvent, node, &read.event) == CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return true;
    default: return can_be_disabled(read.type);
  }
}

// Order among ready nodes: frees of graph memory first, allocations last, so that few nodes have to stay together.
int rank_of(CUgraphNodeType type) {
  if (type == CU_GRAPH_NODE_TYPE_MEM_FREE) return 0;
  return type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? 2 : 1;
}

// Topological sort; within a rank, in the graph's own order. Returns fewer nodes if there is a cycle.
OrderedNodes sorted(const OrderedNodes& nodes, const Edges& edges) {
  std::map<CUgraphNode, std::size_t> places, waits_for;
  std::multimap<CUgraphNode, CUgraphNode> followers;
  for (std::size_t i = 0; i < nodes.size(); ++i) places[nodes[i].node] = i;
  for (std::size_t i = 0; i < edges.first.size(); ++i) {
    followers.emplace(edges.first[i], edges.second[i]);
    ++waits_for[edges.second[i]];
  }
  std::set<std::pair<int, std::size_t>> ready;
  const auto add_if_ready = [&](std::size_t place) {
    const OrderedNode& node = nodes[place];
    if (waits_for[node.node] == 0) ready.emplace(rank_of(node.type), place);
  };
  for (std::size_t place = 0; place < nodes.size(); ++place) add_if_ready(place);
  OrderedNodes order;
  while (!ready.empty()) {
    order.push_back(nodes[ready.extract(ready.begin()).value().second]);
    const auto [begin, end] = followers.equal_range(order.back().node);
    for (auto follower = begin; follower != end; ++follower) {
      --waits_for[follower->second];
      add_if_ready(places[follower->second]);
    }
  }
  return order;
}

bool append(CUgraph graph, OrderedNodes& row);

bool append_child(CUgraphNode node, OrderedNodes& row) {
  CUgraph child = nullptr;
  return call_true(&TrueDriver::cuGraphChildGraphNodeGetGraph, node, &child) == CUDA_SUCCESS && append(child, row);
}

bool append(CUgraph graph, OrderedNodes& row) {
  Nodes handles;
  Edges edges;
  if (!read_nodes(graph, handles) || !read_edges(graph, edges)) return false;
  OrderedNodes nodes(handles.size());
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (!read_node(handles[i], nodes[i])) return false;
  }
  const OrderedNodes order = sorted(nodes, edges);
  if (order.size() != nodes.size()) return false;
  for (const OrderedNode& node : order) {
    row.push_back(node);  // also for a child: the program may destroy that node
    if (node.type == CU_GRAPH_NODE_TYPE_GRAPH && !append_child(node.node, row)) return false;
  }
  return true;
}

// False if the graph frees memory that it did not allocate, or leaves memory allocated: the contents would not outlive
// the launch of a part.
bool join_lives_of_memory(OrderedNodes& row) {
  std::set<CUdeviceptr> living;
  for (OrderedNode& node : row) {
    node.joined = !living.empty();
    if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
      CUDA_MEM_ALLOC_NODE_PARAMS_v1 memory{};
      if (call_true(&TrueDriver::cuGraphMemAllocNodeGetParams, node.node, &memory) != CUDA_SUCCESS) {
        return false;
      }
      living.insert(memory.dptr);
    } else if (node.type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
      CUdeviceptr freed = 0;
      if (call_true(&TrueDriver::cuGraphMemFreeNodeGetParams, node.node, &freed) != CUDA_SUCCESS ||
          living.erase(freed) == 0) {
        return false;
      }
    }
  }
  return living.empty();
}

}  // namespace

OrderedNodes order_to_cut(CUgraph graph) {
  OrderedNodes row;
  return append(graph, row) && join_lives_of_memory(row) ? row : OrderedNodes();
}

bool can_be_disabled(CUgraphNodeType type) {
  switch (static_cast<int>(type)) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case TESSERA_NODE_TYPE_MEMCPY_BATCH:
    case TESSERA_NODE_TYPE_FABRIC_CPY_BATCH: return true;
    default: return false;
  }
}

}  // namespace tessera::preload
