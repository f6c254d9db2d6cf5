// cuGraph*: whole graphs, and the dependencies between their nodes.
#include <algorithm>

#include "graph_call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

bool has_memory(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
    return std::holds_alternative<AllocWork>(node->work) || std::holds_alternative<FreeWork>(node->work);
  });
}

struct Edge {
  const GraphNode* from;
  const GraphNode* to;
};

std::vector<Edge> edges_of(const Graph& graph) {
  std::vector<Edge> edges;
  for (const auto& node : graph.nodes) {
    for (const GraphNode* before : node->after) edges.push_back({before, node.get()});
  }
  return edges;
}

// CUDA's convention for returning a list: without a buffer it returns the length; in a larger buffer the rest is set to
// null and the length is returned.
template <class Item, class Handle, class Make>
CUresult tell(const std::vector<Item>& items, Handle* list, size_t* count, Make make) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (list != nullptr) {
    for (size_t i = 0; i < *count; ++i) list[i] = i < items.size() ? make(items[i]) : Handle{};
    *count = std::min(*count, items.size());
  } else {
    *count = items.size();
  }
  return CUDA_SUCCESS;
}

CUresult tell_nodes(const std::vector<const GraphNode*>& nodes, CUgraphNode* list, CUgraphEdgeData* data,
                    size_t* count) {
  if (count != nullptr && list != nullptr && data != nullptr) std::fill_n(data, *count, CUgraphEdgeData{});
  return tell(nodes, list, count, [](const GraphNode* node) { return handle_of(node); });
}

// Calls body(from, to) for each pair, if all are nodes of `graph`.
template <class Body>
CUresult for_edges(Machine& machine, Graph& graph, const CUgraphNode* from, const CUgraphNode* to,
                   const CUgraphEdgeData* data, size_t count, Body body) {
  std::vector<GraphNode*> sources, targets;
  SOFTCUDA_TRY(find_nodes(machine, graph, from, data, count, sources));
  SOFTCUDA_TRY(find_nodes(machine, graph, to, data, count, targets));
  for (size_t i = 0; i < count; ++i) SOFTCUDA_TRY(body(sources[i], *targets[i]));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  return in_context([&](Machine& machine, Context&) {
    if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *graph = handle_of(machine.graphs.add(std::make_shared<Graph>()));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph into, CUcontext, unsigned at_launch,
                                        unsigned flags) {
  if (handle == nullptr || (flags & ~unsigned{CU_GRAPH_COND_ASSIGN_DEFAULT}) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return on_graph(into, [&](Machine&, Graph& graph) {
    const bool assigned = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0;
    auto condition = std::make_shared<GraphCondition>(GraphCondition{at_launch, at_launch, assigned});
    *handle = handle_of(*condition);
    graph.conditions.push_back(std::move(condition));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph* copy, CUgraph original) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_graph(original, [&](Machine& machine, Graph& graph) {
    if (has_conditional(graph)) return CUDA_ERROR_NOT_SUPPORTED;
    *copy = handle_of(machine.graphs.add(clone(graph)));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return on_graph(handle, [](Machine& machine, Graph& graph) {
    if (graph.owned) return CUDA_ERROR_INVALID_VALUE;
    machine.graphs.destroy(&graph);
    return CUDA_SUCCESS;
  });
}

// If a graph allocates or frees memory, none of its nodes can be deleted.
CUresult cuGraphDestroyNode(CUgraphNode handle) {
  return on_node(handle, [](Machine& machine, GraphNode& node) {
    if (has_memory(*node.graph)) return CUDA_ERROR_INVALID_VALUE;
    machine.graphs.destroy(&node);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* found, CUgraphNode original, CUgraph copy) {
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_graph(copy, [&](Machine& machine, Graph& graph) {
    const GraphNode* const wanted = machine.graphs.find(original);
    for (const auto& node : graph.nodes) {
      if (wanted == nullptr || node->origin != wanted) continue;
      *found = handle_of(node.get());
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_node(handle, [&](Machine&, GraphNode& node) {
    *type = type_of(node.work);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* list, size_t* count) {
  return on_graph(handle, [&](Machine&, Graph& graph) {
    std::vector<const GraphNode*> nodes;
    for (const auto& node : graph.nodes) nodes.push_back(node.get());
    return tell_nodes(nodes, list, nullptr, count);
  });
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* list, size_t* count) {
  return on_graph(handle, [&](Machine&, Graph& graph) {
    std::vector<const GraphNode*> roots;
    for (const auto& node : graph.nodes) {
      if (node->after.empty()) roots.push_back(node.get());
    }
    return tell_nodes(roots, list, nullptr, count);
  });
}

CUresult cuGraphGetEdges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  if (count == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return on_graph(handle, [&](Machine&, Graph& graph) -> CUresult {
    const std::vector<Edge> edges = edges_of(graph);
    size_t room = *count;
    if (from != nullptr && data != nullptr) std::fill_n(data, room, CUgraphEdgeData{});
    SOFTCUDA_TRY(tell(edges, from, &room, [](const Edge& edge) { return handle_of(edge.from); }));
    return tell(edges, to, count, [](const Edge& edge) { return handle_of(edge.to); });
  });
}

CUresult cuGraphNodeGetDependencies(CUgraphNode handle, CUgraphNode* list, CUgraphEdgeData* data, size_t* count) {
  return on_node(handle, [&](Machine&, GraphNode& node) {
    return tell_nodes({node.after.begin(), node.after.end()}, list, data, count);
  });
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode handle, CUgraphNode* list, CUgraphEdgeData* data, size_t* count) {
  return on_node(handle, [&](Machine&, GraphNode& node) {
    std::vector<const GraphNode*> waiting;
    for (const Edge& edge : edges_of(*node.graph)) {
      if (edge.from == &node) waiting.push_back(edge.to);
    }
    return tell_nodes(waiting, list, data, count);
  });
}

CUresult cuGraphAddDependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                                const CUgraphEdgeData* data, size_t count) {
  return on_graph(handle, [&](Machine& machine, Graph& graph) {
    return for_edges(machine, graph, from, to, data, count, [](GraphNode* before, GraphNode& node) {
      const auto known = std::find(node.after.begin(), node.after.end(), before);
      if (known != node.after.end() || before == &node) return CUDA_ERROR_INVALID_VALUE;
      node.after.push_back(before);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuGraphRemoveDependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* data, size_t count) {
  return on_graph(handle, [&](Machine& machine, Graph& graph) {
    return for_edges(machine, graph, from, to, data, count, [](GraphNode* before, GraphNode& node) {
      return std::erase(node.after, before) == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    });
  });
}
