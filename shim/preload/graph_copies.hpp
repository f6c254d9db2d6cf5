// The copies in a graph that may store addresses where no launch shows them.
//
// The source memory of such a copy may hold different addresses at each launch (onnxruntime#32121), so it is read at
// graph launch. Nodes are processed in the graph's own node order, as far as one reads what another wrote: captures and
// programs create nodes in a valid order. Contents that one node writes and a later node overwrites may have been used
// in between, so they count for this launch. Nodes of a conditional body may not run, so what they write counts in
// addition to the previous contents.
//
// A kernel may use a part of a table, or none of it. But if a copy consists of addresses only, and its destination is a
// kernel parameter of the graph, the kernel needs all of these blocks: if they do not fit, the launch is out of memory.
//
// Thread safety: any thread; a GraphCopies belongs to one.
#pragma once

#include <deque>
#include <vector>

#include "copied_words.hpp"
#include "cuda_api.hpp"
#include "graph_words.hpp"

namespace tessera::preload {

// The copies of all nodes, each once, in node order.
std::vector<NodeCopy> copies_in_order(const GraphWords& nodes);

// The copies of one launch. Constructed before the driver is asked for the launch.
class GraphCopies {
 public:
  // Reads the sources of the copies. Stops when status() is no longer success.
  GraphCopies(const std::vector<NodeCopy>& copies, CUstream stream);

  // On failure, a block whose address the copies store outside the heap cannot stay in device memory.
  CUresult status() const { return status_; }
  // Whether kernels may use blocks that neither the nodes nor the current tables name.
  bool add_any() const { return !between_.empty() || makes_tables(); }
  // Whether some kernels certainly use such blocks.
  bool makes_tables() const { return !tables_.empty(); }
  // `words` of some nodes, plus the blocks that their kernels use through copied tables.
  Words complete(const Words& words) const;
  void launched();

 private:
  struct Table {
    CUdeviceptr at;
    std::vector<std::uint64_t> words;
  };

  std::deque<CopiedWords> outside_;
  Words between_;
  std::vector<Table> tables_;  // consisting of addresses only
  CUresult status_ = CUDA_SUCCESS;
};

}  // namespace tessera::preload
