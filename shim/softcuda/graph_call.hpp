// The prologue of graph entry points: converts handles to graphs and nodes, or returns the error.
//
// Thread safety: stateless.
#pragma once

#include "call.hpp"
#include "graphs.hpp"

namespace tessera::softcuda {

// Calls body(machine, graph).
template <class Body>
CUresult on_graph(CUgraph handle, Body&& body) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    Graph* const graph = machine.graphs.find(handle);
    return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : body(machine, *graph);
  });
}

// Calls body(machine, node).
template <class Body>
CUresult on_node(CUgraphNode handle, Body&& body) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    GraphNode* const node = machine.graphs.find(handle);
    return node == nullptr ? CUDA_ERROR_INVALID_VALUE : body(machine, *node);
  });
}

// Calls body(machine, exec).
template <class Body>
CUresult on_exec(CUgraphExec handle, Body&& body) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    GraphExec* const exec = machine.graphs.find(handle);
    return exec == nullptr ? CUDA_ERROR_INVALID_VALUE : body(machine, *exec);
  });
}

// Finds the listed nodes in `graph`. Edges must be plain ones: dependencies on all of a node's work.
inline CUresult find_nodes(Machine& machine, const Graph& graph, const CUgraphNode* handles,
                           const CUgraphEdgeData* edges, size_t count, std::vector<GraphNode*>& nodes) {
  if (handles == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    GraphNode* const node = machine.graphs.find(handles[i]);
    if (node == nullptr || node->graph != &graph) return CUDA_ERROR_INVALID_VALUE;
    if (edges != nullptr && (edges[i].from_port != 0 || edges[i].to_port != 0)) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    nodes.push_back(node);
  }
  return CUDA_SUCCESS;
}

// Adds a node with the work made by make(machine, work).
template <class Make>
CUresult add_node(CUgraphNode* handle, CUgraph into, const CUgraphNode* after, const CUgraphEdgeData* edges,
                  size_t count, Make make) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_graph(into, [&](Machine& machine, Graph& graph) -> CUresult {
    std::vector<GraphNode*> nodes;
    SOFTCUDA_TRY(find_nodes(machine, graph, after, edges, count, nodes));
    Work work = EmptyWork{};
    SOFTCUDA_TRY(make(machine, work));
    *handle = handle_of(machine.graphs.add(graph, std::move(work), nodes));
    return CUDA_SUCCESS;
  });
}

// Calls body(work) for a node of that kind.
template <class Kind, class Body>
CUresult with_work(CUgraphNode handle, Body body) {
  return on_node(handle, [&](Machine&, GraphNode& node) {
    const auto* const work = std::get_if<Kind>(&node.work);
    return work == nullptr ? CUDA_ERROR_INVALID_VALUE : (body(*work), CUDA_SUCCESS);
  });
}

}  // namespace tessera::softcuda
