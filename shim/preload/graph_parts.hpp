// Launches an executable graph in parts when it needs more blocks than device memory holds.
//
// A part is a consecutive range of the graph's nodes in an order that respects every dependency. It is launched as the
// graph itself with all other nodes disabled, so changes that the program makes to the graph apply to every part. CUDA
// can disable kernels, copies and sets. Of the other nodes outside the part, host nodes get an empty callback, record
// nodes record an event of ours, and waits and memory nodes are harmless. A graph with other kinds of nodes, or with a
// kernel that does not fit by itself, fails with out of memory.
//
// Thread safety: any thread; access to one executable graph must be serialised by the program, as CUDA requires.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cuda_api.hpp"
#include "graph_order.hpp"
#include "graph_words.hpp"

namespace tessera::preload {

struct GraphPart {
  OrderedNodes nodes;
  Words words;  // each once
};

struct GraphCut {
  std::vector<GraphPart> parts;
  // Among the nodes that must stay together and do not fit, those that need the most: the minimum that the graph needs.
  Words too_large;
};

// As few parts as possible, each of which fits in device memory: a single part if everything fits; none if nodes that
// must stay together do not fit, or `order` does not contain all nodes of `words`. Queries Tessera; not for hot paths.
GraphCut cut(std::span<const OrderedNode> order, const GraphWords& words);
// Whether the blocks of the certain words fit in device memory together. Queries Tessera, like cut().
bool fits(const Words& words);

// Queues all parts, each by `launch(words)`. If the driver refuses to disable a node for the first part, the graph is
// launched unsplit, with `whole`. Errors: of the first part that could not be queued; earlier parts still run.
template <class Launch>
CUresult launch_parts(CUgraphExec exec, std::span<const GraphPart> parts, const Words& whole, Launch launch);

// Selects which nodes of a graph run. The destructor enables again all nodes that were enabled before.
class EnabledNodes {
 public:
  EnabledNodes(CUgraphExec exec, std::span<const GraphPart> parts);
  ~EnabledNodes();
  EnabledNodes(const EnabledNodes&) = delete;
  EnabledNodes& operator=(const EnabledNodes&) = delete;

  // Errors: the driver's.
  CUresult only(const GraphPart& part);

 private:
  struct Switch {
    const OrderedNode* node;
    const GraphPart* part;
    bool on;
  };

  CUresult read(const OrderedNode& node, bool& enabled);
  CUresult set(const OrderedNode& node, bool on);

  const CUgraphExec exec_;
  std::vector<Switch> switches_;    // of the nodes that the program has enabled
  CUevent unheeded_ = nullptr;      // recorded in place of the program's events
  CUresult status_ = CUDA_SUCCESS;  // of the constructor
};

template <class Launch>
CUresult launch_parts(CUgraphExec exec, std::span<const GraphPart> parts, const Words& whole, Launch launch) {
  {
    EnabledNodes enabled(exec, parts);
    CUresult result = enabled.only(parts.front());
    if (result == CUDA_SUCCESS) {
      result = launch(parts.front().words);
      for (const GraphPart& part : parts.subspan(1)) {
        if (result == CUDA_SUCCESS) result = enabled.only(part);
        if (result == CUDA_SUCCESS) result = launch(part.words);
      }
      return result;
    }
  }
  return launch(whole);
}

}  // namespace tessera::preload
