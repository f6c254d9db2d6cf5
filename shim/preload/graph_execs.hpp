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
#include "graph_words.hpp"

namespace tessera::preload {

class GraphExecs {
 public:
  // The graph was instantiated, or updated as a whole.
  void set(CUgraphExec exec, GraphWords words);
  // Nodes of it have other parameters now; `replaced` are nodes whose words no longer count.
  void change(CUgraphExec exec, CUgraphNode node, Words words,
              const GraphWords* replaced = nullptr);
  // What it held; to be set again if the graph is not destroyed after all.
  GraphWords forget(CUgraphExec exec);
  void forget_all();

  // What a launch needs; null for a graph that holds nothing of ours. Cheap.
  std::shared_ptr<const Words> words(CUgraphExec exec);

 private:
  struct Entry {
    GraphWords nodes;
    std::shared_ptr<const Words> words;  // of all nodes, each once
    std::vector<CUdeviceptr> held;
  };

  // Takes the words together, and holds their blocks instead of those held before.
  std::vector<CUdeviceptr> settle(Entry& entry);

  std::shared_mutex mutex_;
  std::unordered_map<CUgraphExec, Entry> execs_;
};

// The process's one.
GraphExecs& graph_execs();

}  // namespace tessera::preload
