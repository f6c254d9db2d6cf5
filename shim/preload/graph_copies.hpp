// What the nodes of a graph copy, and so may put addresses where no launch shows them.
//
// Memory from which nodes copy holds other addresses for each launch (onnxruntime#32121), so it is read when the graph
// is launched. Nodes run in the order in which the graph has them, as far as one reads what another wrote: captures
// and programs make them in such an order. What one node writes and a later one writes over was there in between, and
// may have been used: it counts for this launch. Nodes of a conditional body may not run: what they write then counts
// beside what was there.
//
// Thread safety: any thread; a GraphCopies belongs to one.
#pragma once

#include <deque>
#include <vector>

#include "copied_words.hpp"
#include "cuda_api.hpp"
#include "graph_words.hpp"

namespace tessera::preload {

// Those of all nodes, each once, in that order.
std::vector<NodeCopy> copies_in_order(const GraphWords& nodes);

// The copies of one launch, from before the driver is asked for it.
class GraphCopies {
 public:
  // Reads their sources. Stops where status() is not success.
  GraphCopies(const std::vector<NodeCopy>& copies, CUstream stream);

  // Not success: what they store outside the heap cannot stay in device memory.
  CUresult status() const { return status_; }
  // What kernels of the graph may use beside what tables say by now.
  const Words& between() const { return between_; }
  void launched();

 private:
  std::deque<CopiedWords> outside_;
  Words between_;
  CUresult status_ = CUDA_SUCCESS;
};

}  // namespace tessera::preload
