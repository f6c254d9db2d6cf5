// Graphs, their nodes, executable graphs, and their handles.
//
// An executable graph is a copy of a graph whose nodes remember their originals, because programs keep referring to
// those. It is run by queuing its nodes on one stream in an order that respects every dependency: no two nodes run at
// the same time, which CUDA allows.
//
// Thread safety: Graphs from any thread. Access to a graph must be serialised by the program, as CUDA requires.
//
// Invariants: dependencies are nodes of the same graph; Graphs knows only handles that were given to a program.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.hpp"
#include "graph_work.hpp"
#include "user_objects.hpp"

namespace tessera::softcuda {

struct GraphNode {
  Graph* graph = nullptr;
  Work work;
  std::vector<GraphNode*> after;      // dependencies
  const GraphNode* origin = nullptr;  // of a copy
  bool enabled = true;
  std::map<int, CUlaunchAttributeValue> attributes;  // set by the program; only stored
  std::vector<void*> parameters;                     // point into `work`, for a program that queries the node
  std::size_t parameter_bytes = 0;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;            // in creation order
  bool owned = false;                                       // by a node: the program may not destroy it
  const Graph* outer = nullptr;                             // the graph that contains that node
  std::vector<std::shared_ptr<GraphCondition>> conditions;  // with handles created for this graph
  HeldObjects objects;
};

struct GraphExec {
  std::shared_ptr<Graph> graph;
  std::unordered_map<const GraphNode*, GraphNode*> copies;  // by original, including inner graphs
  std::uint64_t flags = 0;
};

// A copy with nodes in the same order; inner graphs are copied too.
std::shared_ptr<Graph> clone(const Graph& graph);
// All nodes, each after its dependencies. Nothing if there is a cycle.
std::optional<std::vector<GraphNode*>> in_order(const Graph& graph);
// Errors: CUDA_ERROR_INVALID_VALUE if a node copies or sets memory that is not mapped.
CUresult check_memory(Machine& machine, const Graph& graph);
// Queues all enabled nodes.
CUresult run_graph(Machine& machine, const Graph& graph, StreamId stream);
// Gives `graph` the work of `source`, node by node, and the user objects of `source`. On error, returns the difference
// and the node of `source` with it, and changes nothing.
CUgraphExecUpdateResult update_graph(Graph& graph, const Graph& source, const GraphNode*& at);

inline CUgraph handle_of(const Graph* graph) { return reinterpret_cast<CUgraph>(const_cast<Graph*>(graph)); }
inline CUgraphNode handle_of(const GraphNode* node) {
  return reinterpret_cast<CUgraphNode>(const_cast<GraphNode*>(node));
}
inline CUgraphExec handle_of(GraphExec* exec) { return reinterpret_cast<CUgraphExec>(exec); }

class Graphs {
 public:
  // Null for an unknown handle.
  Graph* find(CUgraph handle);
  GraphNode* find(CUgraphNode handle);
  GraphExec* find(CUgraphExec handle);

  Graph* add(std::shared_ptr<Graph> graph);
  // Adds a node to a known graph.
  GraphNode* add(Graph& graph, Work work, std::span<GraphNode* const> after);
  // Replaces the work of a node; nodes of an inner graph become known.
  void set(GraphNode& node, Work work);
  void destroy(Graph* graph);
  void destroy(GraphNode* node);

  // Null if the graph's dependencies have a cycle.
  GraphExec* instantiate(const Graph& graph, std::uint64_t flags);
  void destroy(GraphExec* exec);

 private:
  void know(Graph& graph) REQUIRES_LOCK(mutex_);
  void forget(Graph& graph) REQUIRES_LOCK(mutex_);

  Mutex mutex_{LockRank::kRegistry};
  std::unordered_set<const Graph*> graphs_ GUARDED_BY(mutex_);
  std::unordered_set<const GraphNode*> nodes_ GUARDED_BY(mutex_);
  std::unordered_map<const Graph*, std::shared_ptr<Graph>> owned_ GUARDED_BY(mutex_);
  std::unordered_map<const GraphExec*, std::unique_ptr<GraphExec>> execs_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
