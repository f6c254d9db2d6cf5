// Executable graphs, and the managed addresses that each of them uses.
//
// An entry is made when a graph is instantiated, and updated with it. A launch fetches all blocks, holds them like any
// use, and makes them evictable again when its work is over.
//
// Thread safety: any thread. Access to a single executable graph must be serialised by the program, as CUDA requires.
#pragma once

#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "cuda_api.hpp"
#include "graph_copies.hpp"
#include "graph_parts.hpp"
#include "graph_words.hpp"

namespace tessera::preload {

class GraphExecs {
 public:
  // The graph was instantiated, or updated as a whole. `source` and `order` make it possible to split the graph: the
  // graph that it was instantiated from, and that graph's nodes. Both are empty after an update.
  void set(CUgraphExec exec, GraphWords words, CUgraph source = nullptr, OrderedNodes order = {});
  // Nodes got new parameters; each may use all of the words.
  void change(CUgraphExec exec, std::span<const CUgraphNode> nodes, const Words& words);
  // A host node got a new callback, or a record node a new event.
  void change_call(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS& call);
  void change_event(CUgraphExec exec, CUgraphNode node, CUevent event);
  // Callbacks and events of its nodes are no longer known.
  void forget_order(CUgraphExec exec);
  // Removes and returns the entry's words; call set() again if the graph is not destroyed after all.
  GraphWords forget(CUgraphExec exec);
  void forget_all();
  // The program destroys the graph. True if an executable needs its nodes to be split: then the graph is kept, and
  // becomes due when the last such executable ends or is updated.
  bool keep(CUgraph source);
  // Kept graphs that the caller has to destroy now.
  std::vector<CUgraph> take_due();
  // The node's handle is no longer valid: executables instantiated from its graph cannot be split.
  void forget_node(CUgraphNode node);

  // The blocks that a launch needs; null for a graph that uses no managed block. Cheap.
  std::shared_ptr<const Words> words(CUgraphExec exec);
  // How to launch a graph that has to be split; null if it does not have to, or cannot be. Cheap except for the first
  // call after a change.
  struct Launchable {
    std::shared_ptr<const std::vector<GraphPart>> parts;
    std::shared_ptr<const Words> too_large;  // the nodes that do not fit, if size prevents splitting: GraphCut
  };
  Launchable parts(CUgraphExec exec);
  // The same for one launch with these copies; the result is not cached. Not cheap.
  Launchable parts_for(CUgraphExec exec, const GraphCopies& copies);
  // The heap's share of device memory has changed: decides again, at the next launch, which graphs must be split.
  void judge_anew();

 private:
  struct Entry {
    GraphWords nodes;
    std::shared_ptr<const Words> words;  // of all nodes, each once
    std::vector<CUdeviceptr> held;
    CUgraph source = nullptr;
    bool keeps_source = false;   // the program has destroyed the source graph
    bool copies_tables = false;  // to kernel parameters, so a launch may need more than the nodes name
    OrderedNodes order;
    bool judged = false;  // it has been decided whether the graph must be split
    Launchable cut;
  };

  // Lets `write(node)` change the ordered entry of the node, if there is one.
  template <class Write>
  void rewrite(CUgraphExec exec, CUgraphNode node, Write write);
  static Launchable launchable(GraphCut made);
  // Whether and how it has to be split; the result is cached.
  const std::vector<GraphPart>* judge(Entry& entry);
  // The entry is about to lose its source, or to be removed.
  void let_go_of_source(Entry& entry);
  // Merges the words of all nodes, and holds their blocks in place of those held before.
  std::vector<CUdeviceptr> settle(Entry& entry);

  std::shared_mutex mutex_;
  std::unordered_map<CUgraphExec, Entry> execs_;
  std::vector<CUgraph> due_;
};

// The instance of this process.
GraphExecs& graph_execs();

}  // namespace tessera::preload
