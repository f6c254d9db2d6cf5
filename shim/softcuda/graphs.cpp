#include "graphs.hpp"

#include <algorithm>

#include "boxes.hpp"
#include "call.hpp"

namespace tessera::softcuda {
namespace {

// The child graph, or the bodies of a conditional node.
std::span<const std::shared_ptr<Graph>> graphs_in(const Work& work) {
  if (const auto* const child = std::get_if<ChildWork>(&work)) return {&child->graph, 1};
  if (const auto* const conditional = std::get_if<ConditionalWork>(&work)) return conditional->bodies;
  return {};
}

void own_inner(const Work& work) {
  for (const auto& inner : graphs_in(work)) inner->owned = true;
}

Work copy_of(const Work& work) {
  if (const auto* const child = std::get_if<ChildWork>(&work)) return ChildWork{clone(*child->graph)};
  if (const auto* const conditional = std::get_if<ConditionalWork>(&work)) {
    ConditionalWork copy{conditional->condition, conditional->kind, {}, nullptr};
    for (const auto& body : conditional->bodies) copy.bodies.push_back(clone(*body));
    return copy;
  }
  return work;
}

void list_copies(const Graph& graph, std::unordered_map<const GraphNode*, GraphNode*>& copies) {
  for (const auto& node : graph.nodes) {
    copies[node->origin] = node.get();
    for (const auto& inner : graphs_in(node->work)) list_copies(*inner, copies);
  }
}

bool runs(const Graph& graph) {
  if (!in_order(graph)) return false;
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
    const auto inner = graphs_in(node->work);
    return std::all_of(inner.begin(), inner.end(), [](const auto& each) { return runs(*each); });
  });
}

// The indices, in their graph, of the nodes that a node depends on.
std::vector<std::size_t> places_before(const Graph& graph, const GraphNode& node) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const bool waits = std::find(node.after.begin(), node.after.end(), graph.nodes[i].get()) != node.after.end();
    if (waits) places.push_back(i);
  }
  return places;
}

CUgraphExecUpdateResult compare(const Graph& graph, const Graph& source, const GraphNode*& at) {
  if (graph.nodes.size() != source.nodes.size()) {
    return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& mine = *graph.nodes[i];
    const GraphNode& theirs = *source.nodes[i];
    at = &theirs;
    if (mine.work.index() != theirs.work.index()) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    }
    if (places_before(graph, mine) != places_before(source, theirs)) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    const auto inner = graphs_in(mine.work);
    const auto other = graphs_in(theirs.work);
    if (inner.size() != other.size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (std::size_t k = 0; k < inner.size(); ++k) {
      const auto same = compare(*inner[k], *other[k], at);
      if (same != CU_GRAPH_EXEC_UPDATE_SUCCESS) return same;
    }
  }
  at = nullptr;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

void take_work(Graph& graph, const Graph& source) {
  graph.objects = source.objects;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    GraphNode& mine = *graph.nodes[i];
    const Work& theirs = source.nodes[i]->work;
    const auto inner = graphs_in(mine.work);
    for (std::size_t k = 0; k < inner.size(); ++k) take_work(*inner[k], *graphs_in(theirs)[k]);
    if (auto* const conditional = std::get_if<ConditionalWork>(&mine.work)) {
      conditional->condition = std::get<ConditionalWork>(theirs).condition;
      conditional->kind = std::get<ConditionalWork>(theirs).kind;
    } else if (inner.empty()) {
      mine.work = theirs;
    }
  }
}

}  // namespace

std::shared_ptr<Graph> clone(const Graph& graph) {
  auto copy = std::make_shared<Graph>();
  copy->objects = graph.objects;
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : graph.nodes) {
    auto made = std::make_unique<GraphNode>();
    made->graph = copy.get();
    made->work = copy_of(node->work);
    own_inner(made->work);
    made->origin = node.get();
    made->enabled = node->enabled;
    made->attributes = node->attributes;
    copies[node.get()] = made.get();
    copy->nodes.push_back(std::move(made));
  }
  for (const auto& node : graph.nodes) {
    for (const GraphNode* before : node->after) {
      copies[node.get()]->after.push_back(copies.at(before));
    }
  }
  return copy;
}

std::optional<std::vector<GraphNode*>> in_order(const Graph& graph) {
  std::vector<GraphNode*> order;
  std::unordered_set<const GraphNode*> placed;
  const auto ready = [&](const GraphNode& node) {
    return !placed.contains(&node) && std::all_of(node.after.begin(), node.after.end(),
                                                  [&](const GraphNode* before) { return placed.contains(before); });
  };
  // Nodes are mostly in order already; each further round handles nodes that were created too early.
  for (std::size_t last = graph.nodes.size() + 1; order.size() != last;) {
    last = order.size();
    for (const auto& node : graph.nodes) {
      if (!ready(*node)) continue;
      placed.insert(node.get());
      order.push_back(node.get());
    }
  }
  if (order.size() != graph.nodes.size()) return std::nullopt;
  return order;
}

CUresult check_memory(Machine& machine, const Graph& graph) {
  for (const auto& node : graph.nodes) {
    if (const auto* const work = std::get_if<CopyWork>(&node->work)) SOFTCUDA_TRY(check_memory(machine, work->copy));
    if (const auto* const work = std::get_if<FillWork>(&node->work)) SOFTCUDA_TRY(check_memory(machine, work->fill));
    for (const auto& inner : graphs_in(node->work)) SOFTCUDA_TRY(check_memory(machine, *inner));
  }
  return CUDA_SUCCESS;
}

CUresult run_graph(Machine& machine, const Graph& graph, StreamId stream) {
  const auto order = in_order(graph);
  if (!order) return CUDA_ERROR_INVALID_VALUE;
  for (const GraphNode* node : *order) {
    if (node->enabled) SOFTCUDA_TRY(run_work(machine, node->work, stream));
  }
  return CUDA_SUCCESS;
}

CUgraphExecUpdateResult update_graph(Graph& graph, const Graph& source, const GraphNode*& at) {
  const CUgraphExecUpdateResult same = compare(graph, source, at);
  if (same == CU_GRAPH_EXEC_UPDATE_SUCCESS) take_work(graph, source);
  return same;
}

// ---- handles -----------------------------------------------------------------------------------

Graph* Graphs::find(CUgraph handle) {
  auto* const graph = reinterpret_cast<Graph*>(handle);
  const MutexLock lock(mutex_);
  return graphs_.contains(graph) ? graph : nullptr;
}

GraphNode* Graphs::find(CUgraphNode handle) {
  auto* const node = reinterpret_cast<GraphNode*>(handle);
  const MutexLock lock(mutex_);
  return nodes_.contains(node) ? node : nullptr;
}

GraphExec* Graphs::find(CUgraphExec handle) {
  auto* const exec = reinterpret_cast<GraphExec*>(handle);
  const MutexLock lock(mutex_);
  return execs_.contains(exec) ? exec : nullptr;
}

Graph* Graphs::add(std::shared_ptr<Graph> graph) {
  Graph* const added = graph.get();
  const MutexLock lock(mutex_);
  know(*added);
  owned_.emplace(added, std::move(graph));
  return added;
}

GraphNode* Graphs::add(Graph& graph, Work work, std::span<GraphNode* const> after) {
  auto node = std::make_unique<GraphNode>();
  GraphNode* const added = node.get();
  node->graph = &graph;
  for (GraphNode* before : after) {
    const bool twice = std::find(node->after.begin(), node->after.end(), before) != node->after.end();
    if (!twice) node->after.push_back(before);
  }
  graph.nodes.push_back(std::move(node));
  {
    const MutexLock lock(mutex_);
    nodes_.insert(added);
  }
  set(*added, std::move(work));
  return added;
}

void Graphs::set(GraphNode& node, Work work) {
  const MutexLock lock(mutex_);
  for (const auto& inner : graphs_in(node.work)) forget(*inner);
  node.work = std::move(work);
  own_inner(node.work);
  for (const auto& inner : graphs_in(node.work)) {
    inner->outer = node.graph;
    know(*inner);
  }
}

// The user objects that it holds are released outside the lock.
void Graphs::destroy(Graph* graph) {
  std::shared_ptr<Graph> ended;
  const MutexLock lock(mutex_);
  forget(*graph);
  const auto known = owned_.find(graph);
  if (known == owned_.end()) return;
  ended = std::move(known->second);
  owned_.erase(known);
}

void Graphs::destroy(GraphNode* node) {
  const MutexLock lock(mutex_);
  for (const auto& inner : graphs_in(node->work)) forget(*inner);
  nodes_.erase(node);
  Graph& graph = *node->graph;
  for (const auto& other : graph.nodes) std::erase(other->after, node);
  std::erase_if(graph.nodes, [node](const auto& each) { return each.get() == node; });
}

GraphExec* Graphs::instantiate(const Graph& graph, std::uint64_t flags) {
  auto exec = std::make_unique<GraphExec>();
  exec->graph = clone(graph);
  exec->flags = flags;
  if (!runs(*exec->graph)) return nullptr;
  list_copies(*exec->graph, exec->copies);
  GraphExec* const made = exec.get();
  const MutexLock lock(mutex_);
  execs_.emplace(made, std::move(exec));
  return made;
}

void Graphs::destroy(GraphExec* exec) {
  std::unique_ptr<GraphExec> ended;
  const MutexLock lock(mutex_);
  const auto known = execs_.find(exec);
  if (known == execs_.end()) return;
  ended = std::move(known->second);
  execs_.erase(known);
}

void Graphs::know(Graph& graph) {
  graphs_.insert(&graph);
  for (const auto& node : graph.nodes) {
    nodes_.insert(node.get());
    for (const auto& inner : graphs_in(node->work)) know(*inner);
  }
}

void Graphs::forget(Graph& graph) {
  graphs_.erase(&graph);
  for (const auto& node : graph.nodes) {
    nodes_.erase(node.get());
    for (const auto& inner : graphs_in(node->work)) forget(*inner);
  }
}

}  // namespace tessera::softcuda
