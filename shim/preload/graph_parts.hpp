// An executable graph that needs more blocks than device memory holds, launched in parts.
//
// A part is a stretch of the graph's nodes in an order that keeps every dependency, and is launched
// as the graph itself with all other nodes disabled, so what the program changes in the graph counts
// in every part. Only graphs of kernels, copies and sets can be cut; others, and those with a kernel
// that does not fit by itself, are out of memory.
//
// Thread safety: any thread; one executable graph is the program's to guard, as CUDA says.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "cuda_api.hpp"
#include "graph_words.hpp"

namespace tessera::preload {

struct GraphPart {
  std::vector<CUgraphNode> nodes;  // that are not empty nodes
  Words words;                     // each once
};

// The nodes of the graph, each after what it waits for; nothing when it cannot be cut.
std::vector<CUgraphNode> order_to_cut(CUgraph graph);

// As few parts as fit into device memory one after another: one when all fits; none when one node
// alone does not. Asks Tessera: not for hot paths.
std::vector<GraphPart> cut(std::span<const CUgraphNode> order, const GraphWords& words);

// Queues all parts. Errors: of the first part that could not be queued; those before it run.
template <class Launch>
CUresult launch_parts(CUgraphExec exec, std::span<const GraphPart> parts, Launch launch);

// Which of a graph's nodes run: all that did before are enabled again when this ends.
class EnabledNodes {
 public:
  EnabledNodes(CUgraphExec exec, std::span<const GraphPart> parts);
  ~EnabledNodes();
  EnabledNodes(const EnabledNodes&) = delete;
  EnabledNodes& operator=(const EnabledNodes&) = delete;

  // Errors: the driver's.
  CUresult only(const GraphPart& part);
  CUresult status() const { return status_; }

 private:
  CUresult enable(CUgraphNode node, bool on);

  const CUgraphExec exec_;
  std::unordered_map<CUgraphNode, bool> nodes_;  // of those that the program has enabled: is it now
  CUresult status_ = CUDA_SUCCESS;
};

template <class Launch>
CUresult launch_parts(CUgraphExec exec, std::span<const GraphPart> parts, Launch launch) {
  EnabledNodes enabled(exec, parts);
  CUresult result = enabled.status();
  for (const GraphPart& part : parts) {
    if (result == CUDA_SUCCESS) result = enabled.only(part);
    if (result == CUDA_SUCCESS) result = launch(part.words);
  }
  return result;
}

}  // namespace tessera::preload
