// Executable graphs, and the managed addresses that each of them holds.
//
// An entry is made when a graph is instantiated and changed with it; a launch brings all blocks in,
// holds them as any use does, and lets them leave again when its work is over.
//
// Thread safety: any thread. One executable graph is the program's to guard, as CUDA says.
#pragma once

#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "cuda_api.hpp"
#include "graph_parts.hpp"
#include "graph_words.hpp"

namespace tessera::preload {

class GraphExecs {
 public:
  // The graph was instantiated, or updated as a whole. `source` is what it can be cut by: the graph
  // that it was instantiated from, and `order` that graph's nodes; none after an update.
  void set(CUgraphExec exec, GraphWords words, CUgraph source = nullptr,
           OrderedNodes order = {});
  // Nodes of it have other parameters now; each may use all the words.
  void change(CUgraphExec exec, std::span<const CUgraphNode> nodes, const Words& words);
  // A host node calls, or a record node records, something else now.
  void change_call(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS& call);
  void change_event(CUgraphExec exec, CUgraphNode node, CUevent event);
  // What its nodes call and record is not known any longer.
  void forget_order(CUgraphExec exec);
  // What it held; to be set again if the graph is not destroyed after all.
  GraphWords forget(CUgraphExec exec);
  void forget_all();
  // The program destroys the graph. True when an executable has to be cut by its nodes: then the graph
  // is kept, and becomes due when the last such executable ends or is updated.
  bool keep(CUgraph source);
  // Graphs that were kept, and are for the caller to destroy now.
  std::vector<CUgraph> take_due();
  // The node's handle means nothing any more: what was instantiated with it cannot be cut.
  void forget_node(CUgraphNode node);

  // What a launch needs; null for a graph that holds nothing of ours. Cheap.
  std::shared_ptr<const Words> words(CUgraphExec exec);
  // How it is launched when it has to be cut; null when it does not, or cannot be. Cheap but for the
  // first time after a change.
  struct Launchable {
    std::shared_ptr<const std::vector<GraphPart>> parts;
    std::shared_ptr<const Words> too_large;  // what is in the way of parts, where that is its size: GraphCut
  };
  Launchable parts(CUgraphExec exec);
  // The device's memory has changed hands: whether graphs have to be cut is asked anew.
  void judge_anew();

 private:
  struct Entry {
    GraphWords nodes;
    std::shared_ptr<const Words> words;  // of all nodes, each once
    std::vector<CUdeviceptr> held;
    CUgraph source = nullptr;
    bool keeps_source = false;  // the program has destroyed it
    OrderedNodes order;
    bool judged = false;  // whether it has to be cut
    Launchable cut;
  };

  // Lets `write(node)` change what the order says of the node, if it has it.
  template <class Write>
  void rewrite(CUgraphExec exec, CUgraphNode node, Write write);
  // Whether it has to be cut, and how; the answer is remembered.
  const std::vector<GraphPart>* judge(Entry& entry);
  // The entry is about to lose its source, or to end.
  void let_go_of_source(Entry& entry);
  // Takes the words together, and holds their blocks instead of those held before.
  std::vector<CUdeviceptr> settle(Entry& entry);

  std::shared_mutex mutex_;
  std::unordered_map<CUgraphExec, Entry> execs_;
  std::vector<CUgraph> due_;
};

// The process's one.
GraphExecs& graph_execs();

}  // namespace tessera::preload
