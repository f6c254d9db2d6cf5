// Graphs, their nodes, and executable graphs; and which handles stand for one.
//
// An executable graph is a copy of a graph whose nodes remember what they were copied from, because
// programs go on naming those. It is run by queueing its nodes on one stream in an order that keeps
// every dependency: no two nodes run at the same time, which CUDA allows.
//
// Thread safety: Graphs from any thread. A graph itself is the program's to guard, as CUDA says.
//
// Invariants: dependencies are nodes of the same graph; only handles that a program was given are
// known to Graphs.
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
  std::vector<GraphNode*> after;      // what it waits for
  const GraphNode* origin = nullptr;  // of a copy
  bool enabled = true;
  std::map<int, CUlaunchAttributeValue> attributes;  // set by the program: remembered
  std::vector<void*> parameters;  // into `work`, for a program that asks
  std::size_t parameter_bytes = 0;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;  // in the order they were made
  bool owned = false;  // by a node: not the program's to destroy
  const Graph* outer = nullptr;  // which has that node
  std::vector<std::shared_ptr<GraphCondition>> conditions;  // whose handles were made for it
  HeldObjects objects;
};

struct GraphExec {
  std::shared_ptr<Graph> graph;
  std::unordered_map<const GraphNode*, GraphNode*> copies;  // by origin, of inner graphs too
  std::uint64_t flags = 0;
};

// A copy with nodes in the same order, inner graphs copied too.
std::shared_ptr<Graph> clone(const Graph& graph);
// All nodes, each after what it waits for. Nothing when the dependencies are a circle.
std::optional<std::vector<GraphNode*>> in_order(const Graph& graph);
// Queues all enabled nodes.
CUresult run_graph(Machine& machine, const Graph& graph, StreamId stream);
// Gives `graph` the work of `source`, node by node, and what `source` holds of the program's. Errors: what differs, and at which node of
// `source`; then nothing has changed.
CUgraphExecUpdateResult update_graph(Graph& graph, const Graph& source, const GraphNode*& at);

inline CUgraph handle_of(const Graph* graph) {
  return reinterpret_cast<CUgraph>(const_cast<Graph*>(graph));
}
inline CUgraphNode handle_of(const GraphNode* node) {
  return reinterpret_cast<CUgraphNode>(const_cast<GraphNode*>(node));
}
inline CUgraphExec handle_of(GraphExec* exec) { return reinterpret_cast<CUgraphExec>(exec); }

class Graphs {
 public:
  // Null for what is none of ours.
  Graph* find(CUgraph handle);
  GraphNode* find(CUgraphNode handle);
  GraphExec* find(CUgraphExec handle);

  Graph* add(std::shared_ptr<Graph> graph);
  // A node of a known graph.
  GraphNode* add(Graph& graph, Work work, std::span<GraphNode* const> after);
  // Puts other work into a node: an inner graph's nodes become known.
  void set(GraphNode& node, Work work);
  void destroy(Graph* graph);
  void destroy(GraphNode* node);

  // Null when the graph's dependencies are a circle.
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
