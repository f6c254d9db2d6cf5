// An executable graph that needs more blocks than device memory holds, launched in parts.
//
// A part is a stretch of the graph's nodes in an order that keeps every dependency, and is launched
// as the graph itself with all other nodes disabled, so what the program changes in the graph counts
// in every part. CUDA disables kernels, copies and sets; of the others, host nodes call nothing and
// record nodes record an event of ours, and waits and the graph's own memory are harmless in each
// part. Graphs of other kinds, and those with a kernel that does not fit by itself, are out of memory.
//
// Thread safety: any thread; one executable graph is the program's to guard, as CUDA says.
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
  // Of the nodes that must stay together and do not fit, those that need the most: what the graph needs at least.
  Words too_large;
};

// As few parts as fit into device memory one after another: one when all fits; none when nodes that
// must stay together do not, or the words are not all of nodes in `order`. Asks Tessera: not for hot
// paths.
GraphCut cut(std::span<const OrderedNode> order, const GraphWords& words);

// Queues all parts, each with `launch(words)`. Where the driver does not let a node of the first part
// be left out, the graph is launched as it is, with `whole`. Errors: of the first part that could not
// be queued; those before it run.
template <class Launch>
CUresult launch_parts(CUgraphExec exec, std::span<const GraphPart> parts, const Words& whole,
                      Launch launch);

// Which of a graph's nodes run: all that did before run again when this ends.
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
  std::vector<Switch> switches_;   // of those that the program has enabled
  CUevent unheeded_ = nullptr;     // recorded for nothing
  CUresult status_ = CUDA_SUCCESS;  // of the constructor
};

template <class Launch>
CUresult launch_parts(CUgraphExec exec, std::span<const GraphPart> parts, const Words& whole,
                      Launch launch) {
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
